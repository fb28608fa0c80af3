// A small graph of our own: musicians, bands, albums, gigs, venues and critics, all invented. What is asked often stands in the
// relationships (who plays what in which band, how many stars a critic gave), and a gig joins a band to a venue.

UNWIND [
  ['Tallow Street', 'folk', 2004], ['The Brass Lanterns', 'swing', 1998], ['Northern Quarry', 'rock', 2011],
  ['Silt and Ember', 'folk', 2015], ['Velvet Ferry', 'soul', 2001], ['Ninth Meridian', 'electronic', 2009],
  ['Paper Orchard', 'pop', 2013], ['Low Tide Assembly', 'rock', 1995]
] AS row
CREATE (:Band {name: row[0], genre: row[1], formed: row[2]});

UNWIND [
  ['Ines Carrow', 1981, 'Lisbon', [['Tallow Street', 'violin', 2004], ['Silt and Ember', 'vocals', 2015]]],
  ['Tobias Renn', 1979, 'Graz', [['Tallow Street', 'guitar', 2004], ['Northern Quarry', 'bass', 2012]]],
  ['Mara Oduya', 1985, 'Lagos', [['Velvet Ferry', 'vocals', 2001], ['Paper Orchard', 'keyboards', 2013]]],
  ['Felix Haldane', 1974, 'Dundee', [['The Brass Lanterns', 'trumpet', 1998], ['Velvet Ferry', 'trumpet', 2003]]],
  ['Yuki Sandoval', 1990, 'Osaka', [['Ninth Meridian', 'synthesizer', 2009], ['Paper Orchard', 'vocals', 2014]]],
  ['Piet Lindqvist', 1969, 'Malmö', [['Low Tide Assembly', 'drums', 1995], ['Northern Quarry', 'drums', 2011]]],
  ['Noor Bashir', 1988, 'Amman', [['Silt and Ember', 'oud', 2016]]],
  ['Callum Weir', 1977, 'Galway', [['Low Tide Assembly', 'guitar', 1997], ['Tallow Street', 'mandolin', 2006]]],
  ['Odile Marchetti', 1983, 'Nice', [['The Brass Lanterns', 'clarinet', 2005]]],
  ['Rasmus Thole', 1992, 'Aarhus', [['Ninth Meridian', 'drums', 2011], ['Northern Quarry', 'guitar', 2011]]]
] AS row
CREATE (m:Musician {name: row[0], born: row[1], birthplace: row[2]})
WITH m, row UNWIND row[3] AS part
MATCH (b:Band {name: part[0]})
CREATE (m)-[:MEMBER_OF {instrument: part[1], since: part[2]}]->(b);

UNWIND [
  ['Candle Tax', 2006, 'Tallow Street'], ['The Weavers Index', 2010, 'Tallow Street'], ['Salt Ledger', 2017, 'Tallow Street'],
  ['Midnight Foundry', 1999, 'The Brass Lanterns'], ['Lantern Parade', 2007, 'The Brass Lanterns'],
  ['Granite Weather', 2012, 'Northern Quarry'], ['Blast Zone Sunday', 2016, 'Northern Quarry'],
  ['Riverbed Hymns', 2016, 'Silt and Ember'], ['Slow Crossing', 2002, 'Velvet Ferry'], ['Harbour Glow', 2008, 'Velvet Ferry'],
  ['Longitude Zero', 2010, 'Ninth Meridian'], ['Antipodes', 2014, 'Ninth Meridian'], ['Windfall', 2014, 'Paper Orchard'],
  ['Moon Pull', 1996, 'Low Tide Assembly'], ['The Ebb Minutes', 2001, 'Low Tide Assembly'], ['Wrack Line', 2009, 'Low Tide Assembly']
] AS row
MATCH (b:Band {name: row[2]})
CREATE (b)-[:RELEASED]->(:Album {title: row[0], year: row[1]});

UNWIND [
  ['Hester Vane', 'The Evening Chord', [['Candle Tax', 4], ['Granite Weather', 2], ['Slow Crossing', 5], ['Windfall', 3]]],
  ['Anselm Kroll', 'Needle and Groove', [['Riverbed Hymns', 5], ['Longitude Zero', 3], ['Moon Pull', 4], ['Lantern Parade', 1]]],
  ['Priya Mott', 'Backline', [['Antipodes', 4], ['Salt Ledger', 5], ['Harbour Glow', 2], ['Blast Zone Sunday', 3], ['Candle Tax', 2]]]
] AS row
CREATE (c:Critic {name: row[0], writesFor: row[1]})
WITH c, row UNWIND row[2] AS one
MATCH (a:Album {title: one[0]})
CREATE (c)-[:RATED {stars: one[1]}]->(a);

UNWIND [
  ['The Copper Room', 'Antwerp', 300], ['Saltworks Hall', 'Gdansk', 1200], ['Moss Theatre', 'Cork', 650], ['Pier Nine', 'Oslo', 2000],
  ['The Almshouse', 'York', 180]
] AS row
CREATE (:Venue {name: row[0], city: row[1], capacity: row[2]});

UNWIND [
  ['G-101', 'Tallow Street', 'The Almshouse', date('2018-03-02'), 160], ['G-102', 'Tallow Street', 'Moss Theatre', date('2018-05-11'), 540],
  ['G-103', 'The Brass Lanterns', 'The Copper Room', date('2018-06-20'), 280], ['G-104', 'Northern Quarry', 'Pier Nine', date('2018-07-08'), 1890],
  ['G-105', 'Silt and Ember', 'The Almshouse', date('2018-09-14'), 175], ['G-106', 'Velvet Ferry', 'Saltworks Hall', date('2018-10-05'), 990],
  ['G-107', 'Ninth Meridian', 'Pier Nine', date('2018-11-23'), 1740], ['G-108', 'Ninth Meridian', 'Saltworks Hall', date('2019-01-18'), 1150],
  ['G-109', 'Paper Orchard', 'The Copper Room', date('2019-02-09'), 300], ['G-110', 'Low Tide Assembly', 'Moss Theatre', date('2019-04-27'), 610]
] AS row
MATCH (b:Band {name: row[1]}) MATCH (v:Venue {name: row[2]})
CREATE (g:Gig {name: 'Gig ' + row[0], date: row[3], tickets: row[4]})
CREATE (b)-[:PLAYED]->(g) CREATE (g)-[:HELD_AT]->(v);
