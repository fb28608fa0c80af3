// A small graph in the shape of Neo4j's well-known movie sample: Person, Movie, ACTED_IN with roles, DIRECTED, PRODUCED, WROTE,
// REVIEWED and FOLLOWS. Facts about films are nobody's; the taglines and reviews are our own words. No constraint and no index:
// as many a database has none.

UNWIND [
  {title: 'The Matrix', released: 1999, tagline: 'What if the world is only a screen?'},
  {title: 'The Matrix Reloaded', released: 2003, tagline: 'The door was only the first.'},
  {title: 'The Matrix Revolutions', released: 2003, tagline: 'Every machine wants something.'},
  {title: 'The Devil\'s Advocate', released: 1997, tagline: 'A young lawyer, and an employer who never loses.'},
  {title: 'Speed', released: 1994, tagline: 'Do not slow down.'},
  {title: 'A Few Good Men', released: 1992, tagline: 'An order nobody gave.'},
  {title: 'Top Gun', released: 1986, tagline: 'Faster than is good for anyone.'},
  {title: 'Jerry Maguire', released: 2000, tagline: 'One memo, one client.'},
  {title: 'Stand By Me', released: 1986, tagline: 'Four boys and a railway line.'},
  {title: 'As Good as It Gets', released: 1997, tagline: 'A novelist, a waitress and a small dog.'},
  {title: 'What Dreams May Come', released: 1998, tagline: 'He went after her, beyond everything.'},
  {title: 'Snow Falling on Cedars', released: 1999, tagline: 'A trial on an island.'},
  {title: 'You\'ve Got Mail', released: 1998, tagline: 'Two booksellers who write to each other.'},
  {title: 'Sleepless in Seattle', released: 1993, tagline: 'A voice on the radio at night.'},
  {title: 'Joe Versus the Volcano', released: 1990, tagline: 'A short life, and a crater.'},
  {title: 'When Harry Met Sally', released: 1998, tagline: 'Twelve years of not being a couple.'},
  {title: 'That Thing You Do', released: 1996, tagline: 'One song, one summer.'},
  {title: 'The Replacements', released: 2000, tagline: 'A second team for a first chance.'},
  {title: 'RescueDawn', released: 2006, tagline: 'A pilot walks home.'},
  {title: 'The Birdcage', released: 1996, tagline: 'Dinner with the in-laws.'},
  {title: 'Unforgiven', released: 1992, tagline: 'An old gun is taken up again.'},
  {title: 'Johnny Mnemonic', released: 1995, tagline: 'A courier who must not forget.'},
  {title: 'Cloud Atlas', released: 2012, tagline: 'Six lives, one thread.'},
  {title: 'The Da Vinci Code', released: 2006, tagline: 'A murder in a museum.'},
  {title: 'V for Vendetta', released: 2006, tagline: 'A mask on the fifth of November.'},
  {title: 'Speed Racer', released: 2008, tagline: 'A family on wheels.'},
  {title: 'Ninja Assassin', released: 2009, tagline: 'Brought up by a clan he must leave.'},
  {title: 'The Green Mile', released: 1999, tagline: 'A guard and a gentle giant.'},
  {title: 'Frost/Nixon', released: 2008, tagline: 'Twelve evenings of questions.'},
  {title: 'Hoffa', released: 1992, tagline: 'A union and the man who was it.'},
  {title: 'Apollo 13', released: 1995, tagline: 'Home, with what is on board.'},
  {title: 'Twister', released: 1996, tagline: 'They drive towards it.'},
  {title: 'Cast Away', released: 2000, tagline: 'A man, an island, a ball.'},
  {title: 'One Flew Over the Cuckoo\'s Nest', released: 1975, tagline: 'A ward learns to laugh.'},
  {title: 'Something\'s Gotta Give', released: 2003, tagline: 'Late, but not too late.'},
  {title: 'Bicentennial Man', released: 1999, tagline: 'A robot with two hundred years to spare.'},
  {title: 'Charlie Wilson\'s War', released: 2007, tagline: 'A congressman and a distant war.'},
  {title: 'The Polar Express', released: 2004, tagline: 'A night train north.'},
  {title: 'A League of Their Own', released: 1992, tagline: 'While the men were away, they played.'}
] AS row
CREATE (m:Movie) SET m = row;

UNWIND [
  ['Keanu Reeves', 1964], ['Carrie-Anne Moss', 1967], ['Laurence Fishburne', 1961], ['Hugo Weaving', 1960],
  ['Lilly Wachowski', 1967], ['Lana Wachowski', 1965], ['Joel Silver', 1952], ['Emil Eifrem', 1978],
  ['Charlize Theron', 1975], ['Al Pacino', 1940], ['Taylor Hackford', 1944], ['Sandra Bullock', 1964],
  ['Dennis Hopper', 1936], ['Jan de Bont', 1943], ['Tom Cruise', 1962], ['Jack Nicholson', 1937], ['Demi Moore', 1962],
  ['Kevin Bacon', 1958], ['Kiefer Sutherland', 1966], ['Noah Wyle', 1971], ['Cuba Gooding Jr.', 1968],
  ['Kevin Pollak', 1957], ['J.T. Walsh', 1943], ['James Marshall', 1967], ['Christopher Guest', 1948],
  ['Rob Reiner', 1947], ['Aaron Sorkin', 1961], ['Kelly McGillis', 1957], ['Val Kilmer', 1959], ['Anthony Edwards', 1962],
  ['Tom Skerritt', 1933], ['Meg Ryan', 1961], ['Tony Scott', 1944], ['Jim Cash', 1941], ['Renee Zellweger', 1969],
  ['Kelly Preston', 1962], ['Jerry O\'Connell', 1974], ['Jay Mohr', 1970], ['Bonnie Hunt', 1961], ['Regina King', 1971],
  ['Jonathan Lipnicki', 1996], ['Cameron Crowe', 1957], ['River Phoenix', 1970], ['Corey Feldman', 1971],
  ['Wil Wheaton', 1972], ['John Cusack', 1966], ['Marshall Bell', 1942], ['Helen Hunt', 1963], ['Greg Kinnear', 1963],
  ['James L. Brooks', 1940], ['Annabella Sciorra', 1960], ['Max von Sydow', 1929], ['Werner Herzog', 1942],
  ['Robin Williams', 1951], ['Vincent Ward', 1956], ['Ethan Hawke', 1970], ['Rick Yune', 1971], ['James Cromwell', 1940],
  ['Scott Hicks', 1953], ['Parker Posey', 1968], ['Dave Chappelle', 1973], ['Steve Zahn', 1967], ['Tom Hanks', 1956],
  ['Nora Ephron', 1941], ['Rita Wilson', 1956], ['Bill Pullman', 1953], ['Victor Garber', 1949],
  ['Rosie O\'Donnell', 1962], ['John Patrick Stanley', 1950], ['Nathan Lane', 1956], ['Billy Crystal', 1948],
  ['Carrie Fisher', 1956], ['Bruno Kirby', 1949], ['Liv Tyler', 1977], ['Brooke Langton', 1970], ['Gene Hackman', 1930],
  ['Orlando Jones', 1968], ['Howard Deutch', 1950], ['Christian Bale', 1974], ['Mike Nichols', 1931],
  ['Richard Harris', 1930], ['Clint Eastwood', 1930], ['Takeshi Kitano', 1947], ['Dina Meyer', 1968], ['Ice-T', 1958],
  ['Robert Longo', 1953], ['Halle Berry', 1966], ['Jim Broadbent', 1949], ['Tom Tykwer', 1965], ['David Mitchell', 1969],
  ['Stefan Arndt', 1961], ['Ian McKellen', 1939], ['Audrey Tautou', 1976], ['Paul Bettany', 1971], ['Ron Howard', 1954],
  ['Natalie Portman', 1981], ['Stephen Rea', 1946], ['John Hurt', 1940], ['Ben Miles', 1967], ['Emile Hirsch', 1985],
  ['John Goodman', 1960], ['Susan Sarandon', 1946], ['Matthew Fox', 1966], ['Christina Ricci', 1980], ['Rain', 1982],
  ['Naomie Harris', 1976], ['James McTeigue', 1967], ['Michael Clarke Duncan', 1957], ['David Morse', 1953],
  ['Sam Rockwell', 1968], ['Gary Sinise', 1955], ['Patricia Clarkson', 1959], ['Frank Darabont', 1959],
  ['Frank Langella', 1938], ['Michael Sheen', 1969], ['Oliver Platt', 1960], ['Danny DeVito', 1944],
  ['John C. Reilly', 1965], ['Ed Harris', 1950], ['Bill Paxton', 1955], ['Philip Seymour Hoffman', 1967],
  ['Robert Zemeckis', 1951], ['Milos Forman', 1932], ['Diane Keaton', 1946], ['Nancy Meyers', 1949],
  ['Chris Columbus', 1958], ['Julia Roberts', 1967], ['Madonna', 1954], ['Geena Davis', 1956], ['Lori Petty', 1963],
  ['Penny Marshall', 1943], ['Zach Grenier', 1954], ['Chris Meledandri', 1959]
] AS row
CREATE (p:Person {name: row[0], born: row[1]});

CREATE (:Person {name: 'Paul Blythe'}), (:Person {name: 'Angela Scope'}), (:Person {name: 'Jessica Thompson'}),
       (:Person {name: 'James Thompson'});

UNWIND [
  ['Keanu Reeves', 'The Matrix', ['Neo']], ['Carrie-Anne Moss', 'The Matrix', ['Trinity']],
  ['Laurence Fishburne', 'The Matrix', ['Morpheus']], ['Hugo Weaving', 'The Matrix', ['Agent Smith']],
  ['Emil Eifrem', 'The Matrix', ['Emil']],
  ['Keanu Reeves', 'The Matrix Reloaded', ['Neo']], ['Carrie-Anne Moss', 'The Matrix Reloaded', ['Trinity']],
  ['Laurence Fishburne', 'The Matrix Reloaded', ['Morpheus']], ['Hugo Weaving', 'The Matrix Reloaded', ['Agent Smith']],
  ['Keanu Reeves', 'The Matrix Revolutions', ['Neo']], ['Carrie-Anne Moss', 'The Matrix Revolutions', ['Trinity']],
  ['Laurence Fishburne', 'The Matrix Revolutions', ['Morpheus']], ['Hugo Weaving', 'The Matrix Revolutions', ['Agent Smith']],
  ['Keanu Reeves', 'The Devil\'s Advocate', ['Kevin Lomax']], ['Charlize Theron', 'The Devil\'s Advocate', ['Mary Ann Lomax']],
  ['Al Pacino', 'The Devil\'s Advocate', ['John Milton']],
  ['Keanu Reeves', 'Speed', ['Jack Traven']], ['Sandra Bullock', 'Speed', ['Annie Porter']], ['Dennis Hopper', 'Speed', ['Howard Payne']],
  ['Tom Cruise', 'A Few Good Men', ['Lt. Daniel Kaffee']], ['Jack Nicholson', 'A Few Good Men', ['Col. Nathan R. Jessup']],
  ['Demi Moore', 'A Few Good Men', ['Lt. Cdr. JoAnne Galloway']], ['Kevin Bacon', 'A Few Good Men', ['Capt. Jack Ross']],
  ['Kiefer Sutherland', 'A Few Good Men', ['Lt. Jonathan Kendrick']], ['Noah Wyle', 'A Few Good Men', ['Cpl. Jeffrey Barnes']],
  ['Cuba Gooding Jr.', 'A Few Good Men', ['Cpl. Carl Hammaker']], ['Kevin Pollak', 'A Few Good Men', ['Lt. Sam Weinberg']],
  ['J.T. Walsh', 'A Few Good Men', ['Lt. Col. Matthew Markinson']], ['James Marshall', 'A Few Good Men', ['Pfc. Louden Downey']],
  ['Christopher Guest', 'A Few Good Men', ['Dr. Stone']], ['Aaron Sorkin', 'A Few Good Men', ['Man in Bar']],
  ['Tom Cruise', 'Top Gun', ['Maverick']], ['Kelly McGillis', 'Top Gun', ['Charlie']], ['Val Kilmer', 'Top Gun', ['Iceman']],
  ['Anthony Edwards', 'Top Gun', ['Goose']], ['Tom Skerritt', 'Top Gun', ['Viper']], ['Meg Ryan', 'Top Gun', ['Carole']],
  ['Tom Cruise', 'Jerry Maguire', ['Jerry Maguire']], ['Cuba Gooding Jr.', 'Jerry Maguire', ['Rod Tidwell']],
  ['Renee Zellweger', 'Jerry Maguire', ['Dorothy Boyd']], ['Kelly Preston', 'Jerry Maguire', ['Avery Bishop']],
  ['Jerry O\'Connell', 'Jerry Maguire', ['Frank Cushman']], ['Jay Mohr', 'Jerry Maguire', ['Bob Sugar']],
  ['Bonnie Hunt', 'Jerry Maguire', ['Laurel Boyd']], ['Regina King', 'Jerry Maguire', ['Marcee Tidwell']],
  ['Jonathan Lipnicki', 'Jerry Maguire', ['Ray Boyd']],
  ['River Phoenix', 'Stand By Me', ['Chris Chambers']], ['Corey Feldman', 'Stand By Me', ['Teddy Duchamp']],
  ['Jerry O\'Connell', 'Stand By Me', ['Vern Tessio']], ['Wil Wheaton', 'Stand By Me', ['Gordie Lachance']],
  ['Kiefer Sutherland', 'Stand By Me', ['Ace Merrill']], ['John Cusack', 'Stand By Me', ['Denny Lachance']],
  ['Marshall Bell', 'Stand By Me', ['Mr. Lachance']],
  ['Jack Nicholson', 'As Good as It Gets', ['Melvin Udall']], ['Helen Hunt', 'As Good as It Gets', ['Carol Connelly']],
  ['Greg Kinnear', 'As Good as It Gets', ['Simon Bishop']], ['Cuba Gooding Jr.', 'As Good as It Gets', ['Frank Sachs']],
  ['Robin Williams', 'What Dreams May Come', ['Chris Nielsen']], ['Cuba Gooding Jr.', 'What Dreams May Come', ['Albert Lewis']],
  ['Annabella Sciorra', 'What Dreams May Come', ['Annie Collins-Nielsen']], ['Max von Sydow', 'What Dreams May Come', ['The Tracker']],
  ['Werner Herzog', 'What Dreams May Come', ['The Face']],
  ['Ethan Hawke', 'Snow Falling on Cedars', ['Ishmael Chambers']], ['Rick Yune', 'Snow Falling on Cedars', ['Kazuo Miyamoto']],
  ['Max von Sydow', 'Snow Falling on Cedars', ['Nels Gudmundsson']], ['James Cromwell', 'Snow Falling on Cedars', ['Judge Fielding']],
  ['Tom Hanks', 'You\'ve Got Mail', ['Joe Fox']], ['Meg Ryan', 'You\'ve Got Mail', ['Kathleen Kelly']],
  ['Greg Kinnear', 'You\'ve Got Mail', ['Frank Navasky']], ['Parker Posey', 'You\'ve Got Mail', ['Patricia Eden']],
  ['Dave Chappelle', 'You\'ve Got Mail', ['Kevin Jackson']], ['Steve Zahn', 'You\'ve Got Mail', ['George Pappas']],
  ['Tom Hanks', 'Sleepless in Seattle', ['Sam Baldwin']], ['Meg Ryan', 'Sleepless in Seattle', ['Annie Reed']],
  ['Rita Wilson', 'Sleepless in Seattle', ['Suzy']], ['Bill Pullman', 'Sleepless in Seattle', ['Walter']],
  ['Victor Garber', 'Sleepless in Seattle', ['Greg']], ['Rosie O\'Donnell', 'Sleepless in Seattle', ['Becky']],
  ['Tom Hanks', 'Joe Versus the Volcano', ['Joe Banks']], ['Meg Ryan', 'Joe Versus the Volcano', ['DeDe', 'Angelica Graynamore', 'Patricia Graynamore']],
  ['Nathan Lane', 'Joe Versus the Volcano', ['Baw']],
  ['Billy Crystal', 'When Harry Met Sally', ['Harry Burns']], ['Meg Ryan', 'When Harry Met Sally', ['Sally Albright']],
  ['Carrie Fisher', 'When Harry Met Sally', ['Marie']], ['Bruno Kirby', 'When Harry Met Sally', ['Jess']],
  ['Tom Hanks', 'That Thing You Do', ['Mr. White']], ['Liv Tyler', 'That Thing You Do', ['Faye Dolan']],
  ['Charlize Theron', 'That Thing You Do', ['Tina']],
  ['Keanu Reeves', 'The Replacements', ['Shane Falco']], ['Brooke Langton', 'The Replacements', ['Annabelle Farrell']],
  ['Gene Hackman', 'The Replacements', ['Jimmy McGinty']], ['Orlando Jones', 'The Replacements', ['Clifford Franklin']],
  ['Marshall Bell', 'RescueDawn', ['Admiral']], ['Christian Bale', 'RescueDawn', ['Dieter Dengler']],
  ['Zach Grenier', 'RescueDawn', ['Squad Leader']], ['Steve Zahn', 'RescueDawn', ['Duane']],
  ['Robin Williams', 'The Birdcage', ['Armand Goldman']], ['Nathan Lane', 'The Birdcage', ['Albert Goldman']],
  ['Gene Hackman', 'The Birdcage', ['Sen. Kevin Keeley']],
  ['Richard Harris', 'Unforgiven', ['English Bob']], ['Clint Eastwood', 'Unforgiven', ['Bill Munny']],
  ['Gene Hackman', 'Unforgiven', ['Little Bill Daggett']],
  ['Keanu Reeves', 'Johnny Mnemonic', ['Johnny Mnemonic']], ['Takeshi Kitano', 'Johnny Mnemonic', ['Takahashi']],
  ['Dina Meyer', 'Johnny Mnemonic', ['Jane']], ['Ice-T', 'Johnny Mnemonic', ['J-Bone']],
  ['Tom Hanks', 'Cloud Atlas', ['Zachry', 'Dr. Henry Goose', 'Isaac Sachs', 'Dermot Hoggins']],
  ['Hugo Weaving', 'Cloud Atlas', ['Bill Smoke', 'Haskell Moore', 'Nurse Noakes', 'Old Georgie']],
  ['Halle Berry', 'Cloud Atlas', ['Luisa Rey', 'Jocasta Ayrs', 'Ovid', 'Meronym']],
  ['Jim Broadbent', 'Cloud Atlas', ['Vyvyan Ayrs', 'Captain Molyneux', 'Timothy Cavendish']],
  ['Tom Hanks', 'The Da Vinci Code', ['Dr. Robert Langdon']], ['Ian McKellen', 'The Da Vinci Code', ['Sir Leigh Teabing']],
  ['Audrey Tautou', 'The Da Vinci Code', ['Sophie Neveu']], ['Paul Bettany', 'The Da Vinci Code', ['Silas']],
  ['Hugo Weaving', 'V for Vendetta', ['V']], ['Natalie Portman', 'V for Vendetta', ['Evey Hammond']],
  ['Stephen Rea', 'V for Vendetta', ['Eric Finch']], ['John Hurt', 'V for Vendetta', ['High Chancellor Adam Sutler']],
  ['Ben Miles', 'V for Vendetta', ['Dascomb']],
  ['Emile Hirsch', 'Speed Racer', ['Speed Racer']], ['John Goodman', 'Speed Racer', ['Pops']], ['Susan Sarandon', 'Speed Racer', ['Mom']],
  ['Matthew Fox', 'Speed Racer', ['Racer X']], ['Christina Ricci', 'Speed Racer', ['Trixie']], ['Rain', 'Speed Racer', ['Taejo Togokahn']],
  ['Ben Miles', 'Speed Racer', ['Cass Jones']],
  ['Rain', 'Ninja Assassin', ['Raizo']], ['Naomie Harris', 'Ninja Assassin', ['Mika Coretti']], ['Rick Yune', 'Ninja Assassin', ['Takeshi']],
  ['Ben Miles', 'Ninja Assassin', ['Ryan Maslow']],
  ['Tom Hanks', 'The Green Mile', ['Paul Edgecomb']], ['Michael Clarke Duncan', 'The Green Mile', ['John Coffey']],
  ['David Morse', 'The Green Mile', ['Brutus Howell']], ['Bonnie Hunt', 'The Green Mile', ['Jan Edgecomb']],
  ['James Cromwell', 'The Green Mile', ['Warden Hal Moores']], ['Sam Rockwell', 'The Green Mile', ['Wild Bill Wharton']],
  ['Gary Sinise', 'The Green Mile', ['Burt Hammersmith']], ['Patricia Clarkson', 'The Green Mile', ['Melinda Moores']],
  ['Frank Langella', 'Frost/Nixon', ['Richard Nixon']], ['Michael Sheen', 'Frost/Nixon', ['David Frost']],
  ['Kevin Bacon', 'Frost/Nixon', ['Jack Brennan']], ['Oliver Platt', 'Frost/Nixon', ['Bob Zelnick']],
  ['Sam Rockwell', 'Frost/Nixon', ['James Reston, Jr.']],
  ['Jack Nicholson', 'Hoffa', ['Jimmy Hoffa']], ['Danny DeVito', 'Hoffa', ['Bobby Ciaro']], ['J.T. Walsh', 'Hoffa', ['Frank Fitzsimmons']],
  ['John C. Reilly', 'Hoffa', ['Pete Connelly']],
  ['Tom Hanks', 'Apollo 13', ['Jim Lovell']], ['Kevin Bacon', 'Apollo 13', ['Jack Swigert']], ['Ed Harris', 'Apollo 13', ['Gene Kranz']],
  ['Bill Paxton', 'Apollo 13', ['Fred Haise']], ['Gary Sinise', 'Apollo 13', ['Ken Mattingly']],
  ['Bill Paxton', 'Twister', ['Bill Harding']], ['Helen Hunt', 'Twister', ['Jo Harding']], ['Zach Grenier', 'Twister', ['Eddie']],
  ['Philip Seymour Hoffman', 'Twister', ['Dusty Davis']],
  ['Tom Hanks', 'Cast Away', ['Chuck Noland']], ['Helen Hunt', 'Cast Away', ['Kelly Frears']],
  ['Jack Nicholson', 'One Flew Over the Cuckoo\'s Nest', ['Randle McMurphy']],
  ['Danny DeVito', 'One Flew Over the Cuckoo\'s Nest', ['Martini']],
  ['Jack Nicholson', 'Something\'s Gotta Give', ['Harry Sanborn']], ['Diane Keaton', 'Something\'s Gotta Give', ['Erica Barry']],
  ['Keanu Reeves', 'Something\'s Gotta Give', ['Julian Mercer']],
  ['Robin Williams', 'Bicentennial Man', ['Andrew Martin']], ['Oliver Platt', 'Bicentennial Man', ['Rupert Burns']],
  ['Tom Hanks', 'Charlie Wilson\'s War', ['Rep. Charlie Wilson']], ['Julia Roberts', 'Charlie Wilson\'s War', ['Joanne Herring']],
  ['Philip Seymour Hoffman', 'Charlie Wilson\'s War', ['Gust Avrakotos']],
  ['Tom Hanks', 'The Polar Express', ['Hero Boy', 'Father', 'Conductor', 'Hobo', 'Scrooge', 'Santa Claus']],
  ['Madonna', 'A League of Their Own', ['Mae Mordabito']], ['Geena Davis', 'A League of Their Own', ['Dottie Hinson']],
  ['Lori Petty', 'A League of Their Own', ['Kit Keller']], ['Tom Hanks', 'A League of Their Own', ['Jimmy Dugan']],
  ['Rosie O\'Donnell', 'A League of Their Own', ['Doris Murphy']], ['Bill Paxton', 'A League of Their Own', ['Bob Hinson']]
] AS row
MATCH (p:Person {name: row[0]}) MATCH (m:Movie {title: row[1]})
CREATE (p)-[:ACTED_IN {roles: row[2]}]->(m);

UNWIND [
  ['Lilly Wachowski', 'The Matrix'], ['Lana Wachowski', 'The Matrix'], ['Lilly Wachowski', 'The Matrix Reloaded'],
  ['Lana Wachowski', 'The Matrix Reloaded'], ['Lilly Wachowski', 'The Matrix Revolutions'], ['Lana Wachowski', 'The Matrix Revolutions'],
  ['Taylor Hackford', 'The Devil\'s Advocate'], ['Jan de Bont', 'Speed'], ['Rob Reiner', 'A Few Good Men'], ['Tony Scott', 'Top Gun'],
  ['Cameron Crowe', 'Jerry Maguire'], ['Rob Reiner', 'Stand By Me'], ['James L. Brooks', 'As Good as It Gets'],
  ['Vincent Ward', 'What Dreams May Come'], ['Scott Hicks', 'Snow Falling on Cedars'], ['Nora Ephron', 'You\'ve Got Mail'],
  ['Nora Ephron', 'Sleepless in Seattle'], ['John Patrick Stanley', 'Joe Versus the Volcano'], ['Rob Reiner', 'When Harry Met Sally'],
  ['Tom Hanks', 'That Thing You Do'], ['Howard Deutch', 'The Replacements'], ['Werner Herzog', 'RescueDawn'],
  ['Mike Nichols', 'The Birdcage'], ['Clint Eastwood', 'Unforgiven'], ['Robert Longo', 'Johnny Mnemonic'],
  ['Tom Tykwer', 'Cloud Atlas'], ['Lilly Wachowski', 'Cloud Atlas'], ['Lana Wachowski', 'Cloud Atlas'],
  ['Ron Howard', 'The Da Vinci Code'], ['James McTeigue', 'V for Vendetta'], ['Lilly Wachowski', 'Speed Racer'],
  ['Lana Wachowski', 'Speed Racer'], ['James McTeigue', 'Ninja Assassin'], ['Frank Darabont', 'The Green Mile'],
  ['Ron Howard', 'Frost/Nixon'], ['Danny DeVito', 'Hoffa'], ['Ron Howard', 'Apollo 13'], ['Jan de Bont', 'Twister'],
  ['Robert Zemeckis', 'Cast Away'], ['Milos Forman', 'One Flew Over the Cuckoo\'s Nest'], ['Nancy Meyers', 'Something\'s Gotta Give'],
  ['Chris Columbus', 'Bicentennial Man'], ['Mike Nichols', 'Charlie Wilson\'s War'], ['Robert Zemeckis', 'The Polar Express'],
  ['Penny Marshall', 'A League of Their Own']
] AS row
MATCH (p:Person {name: row[0]}) MATCH (m:Movie {title: row[1]})
CREATE (p)-[:DIRECTED]->(m);

UNWIND [
  ['Joel Silver', 'The Matrix'], ['Joel Silver', 'The Matrix Reloaded'], ['Joel Silver', 'The Matrix Revolutions'],
  ['Joel Silver', 'V for Vendetta'], ['Joel Silver', 'Speed Racer'], ['Joel Silver', 'Ninja Assassin'],
  ['Lilly Wachowski', 'V for Vendetta'], ['Lana Wachowski', 'V for Vendetta'], ['Lilly Wachowski', 'Ninja Assassin'],
  ['Lana Wachowski', 'Ninja Assassin'], ['Stefan Arndt', 'Cloud Atlas'], ['Cameron Crowe', 'Jerry Maguire'],
  ['Rob Reiner', 'When Harry Met Sally'], ['Nora Ephron', 'When Harry Met Sally'], ['Nancy Meyers', 'Something\'s Gotta Give']
] AS row
MATCH (p:Person {name: row[0]}) MATCH (m:Movie {title: row[1]})
CREATE (p)-[:PRODUCED]->(m);

UNWIND [
  ['Aaron Sorkin', 'A Few Good Men'], ['Jim Cash', 'Top Gun'], ['Cameron Crowe', 'Jerry Maguire'], ['Nora Ephron', 'When Harry Met Sally'],
  ['David Mitchell', 'Cloud Atlas'], ['Lilly Wachowski', 'V for Vendetta'], ['Lana Wachowski', 'V for Vendetta'],
  ['Lilly Wachowski', 'Speed Racer'], ['Lana Wachowski', 'Speed Racer'], ['Nancy Meyers', 'Something\'s Gotta Give']
] AS row
MATCH (p:Person {name: row[0]}) MATCH (m:Movie {title: row[1]})
CREATE (p)-[:WROTE]->(m);

UNWIND [
  ['Jessica Thompson', 'Cloud Atlas', 95, 'A puzzle worth the evening.'], ['Jessica Thompson', 'The Replacements', 65, 'Silly, and fun.'],
  ['James Thompson', 'The Replacements', 100, 'I laughed at every play.'], ['Angela Scope', 'The Replacements', 62, 'Nice, if you like football.'],
  ['Jessica Thompson', 'Unforgiven', 85, 'Dark, and slow in the best way.'], ['Jessica Thompson', 'The Birdcage', 45, 'Loud.'],
  ['Jessica Thompson', 'The Da Vinci Code', 68, 'Better on paper.'], ['James Thompson', 'The Da Vinci Code', 65, 'Pretty pictures of Paris.'],
  ['Jessica Thompson', 'Jerry Maguire', 92, 'A film with a heart.']
] AS row
MATCH (p:Person {name: row[0]}) MATCH (m:Movie {title: row[1]})
CREATE (p)-[:REVIEWED {rating: row[2], summary: row[3]}]->(m);

UNWIND [['James Thompson', 'Jessica Thompson'], ['Angela Scope', 'Jessica Thompson'], ['Paul Blythe', 'Angela Scope']] AS row
MATCH (a:Person {name: row[0]}) MATCH (b:Person {name: row[1]})
CREATE (a)-[:FOLLOWS]->(b);
