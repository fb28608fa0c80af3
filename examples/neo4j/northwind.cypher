// A small graph in the shape of Neo4j's Northwind sample: Customer, Order, Product, Category, Supplier, Employee, with the
// sample's property names (companyName, productName, …) and relationships. The companies, people and texts are ours: an invented
// grocery trade. Constraints keep the keys unique, as the sample's tutorial has them.

CREATE CONSTRAINT product_id FOR (p:Product) REQUIRE p.productID IS UNIQUE;
CREATE CONSTRAINT category_id FOR (c:Category) REQUIRE c.categoryID IS UNIQUE;
CREATE CONSTRAINT supplier_id FOR (s:Supplier) REQUIRE s.supplierID IS UNIQUE;
CREATE CONSTRAINT customer_id FOR (c:Customer) REQUIRE c.customerID IS UNIQUE;
CREATE CONSTRAINT order_id FOR (o:Order) REQUIRE o.orderID IS UNIQUE;
CREATE CONSTRAINT employee_id FOR (e:Employee) REQUIRE e.employeeID IS UNIQUE;

UNWIND [
  [1, 'Beverages', 'Teas, coffees, juices and ales'], [2, 'Condiments', 'Sauces, relishes, spreads and spices'],
  [3, 'Confections', 'Sweets, biscuits and sweet breads'], [4, 'Dairy Products', 'Cheeses and butter'],
  [5, 'Grains and Cereals', 'Breads, crackers, pasta and flour'], [6, 'Produce', 'Dried fruit and bean curd'],
  [7, 'Seafood', 'Fish, shellfish and seaweed']
] AS row
CREATE (:Category {categoryID: row[0], categoryName: row[1], description: row[2]});

UNWIND [
  [1, 'Harbour Tea Importers', 'Edith Lowe', 'Purchasing Manager', 'London', 'United Kingdom', '020 7946 0101'],
  [2, 'Bayou Pepper House', 'Marcel Tran', 'Order Administrator', 'New Orleans', 'United States', '504 555 0102'],
  [3, 'Ringsted Mejeri', 'Sofie Dahl', 'Sales Representative', 'Ringsted', 'Denmark', '57 61 01 03'],
  [4, 'Kaisei Suisan', 'Haru Mori', 'Marketing Manager', 'Osaka', 'Japan', '06 5550 0104'],
  [5, 'Panificio Bellavista', 'Gianni Conti', 'Owner', 'Ravenna', 'Italy', '0544 555 105'],
  [6, 'Zuckerwerk Lindner', 'Petra Lindner', 'Owner', 'Leipzig', 'Germany', '0341 555 0106'],
  [7, 'Orchard and Vine', 'Nomvula Dube', 'Export Manager', 'Paarl', 'South Africa', '021 555 0107']
] AS row
CREATE (:Supplier {supplierID: row[0], companyName: row[1], contactName: row[2], contactTitle: row[3], city: row[4], country: row[5], phone: row[6]});

UNWIND [
  [1, 'Breakfast Chai', 1, 1, '10 boxes x 20 bags', 18.0, 39, false], [2, 'Smoky Lapsang', 1, 1, '12 tins', 24.5, 17, false],
  [3, 'Dock Road Porter', 1, 1, '24 bottles', 14.0, 111, false], [4, 'Cajun Garden Seasoning', 2, 2, '48 jars', 22.0, 53, false],
  [5, 'Okra Gumbo Mix', 2, 2, '36 boxes', 21.35, 0, true], [6, 'Louisiana Hot Drops', 2, 2, '32 bottles', 21.05, 76, false],
  [7, 'Sealand Blue Cheese', 3, 4, '10 packets of 500 g', 34.8, 25, false], [8, 'Havarti with Caraway', 3, 4, '15 packets of 300 g', 25.0, 42, false],
  [9, 'Cultured Butter', 3, 4, '24 packets of 250 g', 9.5, 85, false], [10, 'Toasted Nori', 4, 7, '50 packets', 6.0, 24, false],
  [11, 'Salted Salmon Roe', 4, 7, '12 jars of 200 ml', 31.0, 31, false], [12, 'Silken Tofu', 4, 6, '40 packets of 100 g', 23.25, 35, false],
  [13, 'Potato Gnocchi', 5, 5, '24 packets of 250 g', 38.0, 21, false], [14, 'Hand-cut Tagliatelle', 5, 5, '24 packets of 250 g', 19.5, 36, false],
  [15, 'Rosemary Crackers', 5, 5, '24 packets of 500 g', 9.0, 61, false], [16, 'Marzipan Loaf', 6, 3, '16 boxes', 43.9, 49, false],
  [17, 'Gingerbread Hearts', 6, 3, '10 boxes x 12 pieces', 9.2, 25, false], [18, 'Nougat Bars', 6, 3, '20 bars', 14.0, 76, false],
  [19, 'Dried Cape Apricots', 7, 6, '50 packets of 300 g', 53.0, 20, false], [20, 'Rooibos Loose Leaf', 7, 1, '20 tins of 250 g', 12.5, 57, false],
  [21, 'Peach Chutney', 7, 2, '12 jars', 13.0, 32, false]
] AS row
MATCH (s:Supplier {supplierID: row[2]}) MATCH (c:Category {categoryID: row[3]})
CREATE (p:Product {productID: row[0], productName: row[1], quantityPerUnit: row[4], unitPrice: row[5], unitsInStock: row[6], discontinued: row[7]})
CREATE (s)-[:SUPPLIES]->(p) CREATE (p)-[:PART_OF]->(c);

UNWIND [
  ['ANTON', 'Antonia Feinkost', 'Maria Brandt', 'Sales Representative', 'Berlin', 'Germany'],
  ['BERGS', 'Bergströms Livs', 'Karin Berg', 'Order Administrator', 'Luleå', 'Sweden'],
  ['BLONP', 'Blondel Père et Fils', 'Luc Blondel', 'Marketing Manager', 'Strasbourg', 'France'],
  ['CACTU', 'Cactus y Compañía', 'Patricio Sosa', 'Sales Agent', 'Buenos Aires', 'Argentina'],
  ['DRACD', 'Drachenblut Delikatessen', 'Sven Otto', 'Order Administrator', 'Aachen', 'Germany'],
  ['HIGHL', 'Highland Larder', 'Ailsa Reid', 'Owner', 'Inverness', 'United Kingdom'],
  ['ISLAT', 'Island Table', 'Helen Ward', 'Marketing Manager', 'Cowes', 'United Kingdom'],
  ['LONEP', 'Lone Cedar Provisions', 'Fran Willow', 'Sales Manager', 'Portland', 'United States'],
  ['OTTIK', 'Ottos Käseladen', 'Henriette Pfalz', 'Owner', 'Köln', 'Germany'],
  ['SEVES', 'Seven Seas Pantry', 'Hari Kumar', 'Sales Manager', 'London', 'United Kingdom']
] AS row
CREATE (:Customer {customerID: row[0], companyName: row[1], contactName: row[2], contactTitle: row[3], city: row[4], country: row[5]});

UNWIND [
  [1, 'Nadia', 'Holt', 'Sales Representative', date('1968-12-08'), date('1992-05-01'), 'Seattle', 'Nadia studied psychology before she came to the trade, and spent four years at a call desk where she learned to listen. She looks after the northern accounts, speaks French and a little Swedish, and runs the tasting evenings in spring.'],
  [2, 'Arthur', 'Fell', 'Vice President, Sales', date('1952-02-19'), date('1992-08-14'), 'Tacoma', 'Arthur took his degree in international marketing at Dallas and joined the company as a representative. He became sales manager within a year and vice president two years later. He is fluent in French and Italian and reads German.'],
  [3, 'Janna', 'Lever', 'Sales Representative', date('1963-08-30'), date('1992-04-01'), 'Kirkland', 'Janna has a degree in chemistry and finished a course in food retailing. She was hired as a sales associate and promoted the winter after. The cheese makers ask for her by name.'],
  [4, 'Stig', 'Bucher', 'Sales Manager', date('1955-03-04'), date('1993-10-17'), 'London', 'Stig came from a shipping office in Bergen, spent a year getting to know the suppliers, and moved to London as sales manager. He has lectured on the law of perishable goods and keeps bees on the roof.']
] AS row
CREATE (:Employee {employeeID: row[0], firstName: row[1], lastName: row[2], title: row[3], birthDate: row[4], hireDate: row[5], city: row[6], notes: row[7]});

UNWIND [[1, 2], [3, 2], [4, 2]] AS row
MATCH (a:Employee {employeeID: row[0]}) MATCH (b:Employee {employeeID: row[1]})
CREATE (a)-[:REPORTS_TO]->(b);

UNWIND [
  [10248, 'ANTON', 4, date('1996-07-04'), 'Reims', 'France', [[7, 12, 34.8], [14, 10, 19.5]]],
  [10249, 'BERGS', 1, date('1996-07-05'), 'Luleå', 'Sweden', [[11, 9, 31.0]]],
  [10250, 'BLONP', 3, date('1996-07-08'), 'Strasbourg', 'France', [[16, 10, 43.9], [4, 35, 22.0]]],
  [10251, 'HIGHL', 4, date('1996-07-08'), 'Inverness', 'United Kingdom', [[1, 20, 18.0], [17, 15, 9.2]]],
  [10252, 'OTTIK', 3, date('1996-07-09'), 'Köln', 'Germany', [[8, 40, 25.0], [9, 25, 9.5]]],
  [10253, 'SEVES', 1, date('1996-07-10'), 'London', 'United Kingdom', [[10, 20, 6.0], [12, 42, 23.25]]],
  [10254, 'LONEP', 1, date('1996-07-11'), 'Portland', 'United States', [[6, 15, 21.05], [21, 21, 13.0]]],
  [10255, 'CACTU', 4, date('1996-07-12'), 'Buenos Aires', 'Argentina', [[19, 20, 53.0]]],
  [10256, 'DRACD', 3, date('1996-07-15'), 'Aachen', 'Germany', [[3, 15, 14.0], [15, 12, 9.0]]],
  [10257, 'ISLAT', 1, date('1996-07-16'), 'Cowes', 'United Kingdom', [[2, 25, 24.5], [20, 6, 12.5]]],
  [10258, 'ANTON', 4, date('1996-07-17'), 'Berlin', 'Germany', [[18, 50, 14.0], [13, 65, 38.0]]],
  [10259, 'BERGS', 1, date('1996-07-18'), 'Luleå', 'Sweden', [[5, 10, 21.35]]]
] AS row
MATCH (c:Customer {customerID: row[1]}) MATCH (e:Employee {employeeID: row[2]})
CREATE (o:Order {orderID: row[0], orderDate: row[3], shipCity: row[4], shipCountry: row[5]})
CREATE (c)-[:PURCHASED]->(o) CREATE (e)-[:SOLD]->(o)
WITH o, row UNWIND row[6] AS line
MATCH (p:Product {productID: line[0]})
CREATE (o)-[:ORDERS {quantity: line[1], unitPrice: line[2]}]->(p);
