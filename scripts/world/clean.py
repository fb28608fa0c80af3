"""Tables that turn the source's spellings into one name for each thing."""

from __future__ import annotations

import re

LANGUAGES = {
    "Tigrigna": "Tigrinya",
    "Kiswahili": "Swahili",
    "Swahili/Kiswahili": "Swahili",
    "Kiswahili or Swahili": "Swahili",
    "Castilian Spanish": "Spanish",
    "Castilian": "Spanish",
    "Rioplatense": "Spanish",
    "Bangla": "Bengali",
    "Farsi": "Persian",
    "Persian Farsi": "Persian",
    "Afghan Persian or Dari": "Dari",
    "Putonghua": "Mandarin",
    "Standard Chinese or Mandarin": "Mandarin",
    "Northern Chinese": "Mandarin",
    "Yue": "Cantonese",
    "Panjabi": "Punjabi",
    "Azerbaijani": "Azeri",
    "Serbo-Croat": "Serbo-Croatian",
    "Sesotho or Sotho": "Sesotho",
    "Sotho": "Sesotho",
    "Setswana or Tswana": "Tswana",
    "Setswana": "Tswana",
    "Tshivenda or Venda": "Venda",
    "Xitsonga or Tsonga": "Tsonga",
    "Sepedi or Pedi": "Sepedi",
    "Qazaq": "Kazakh",
    "Minnan": "Min Nan",
    "Moldovan/Romanian": "Romanian",
    "Uzbeki": "Uzbek",
    "Standard Arabic": "Arabic",
    "Roma": "Romani",
    "Ganda or Luganda": "Luganda",
    "English widely": "English",
    "English commonly used": "English",
    "English <": "English",
    "French <": "French",
    "Aranese <5": "Aranese",
    "Nyanja 8.1": "Nyanja",
    "Baluchi": "Balochi",
    "Turkmani": "Turkmen",
    "Senoufo": "Senufo",
    "Maithali": "Maithili",
    "Maraka/Soninke": "Soninke",
    "Yakthung/Limbu": "Limbu",
    "Zezuru/Shona": "Shona",
    "Bahasa Malaysia": "Malay",
    "Bahasa Indonesia": "Indonesian",
    "Peuhl/Foulfoulbe/Fulani": "Fulani",
    "Fufulde": "Fulani",
    "Fula": "Fulani",
    "Gilbertese": "Kiribati",
    "Sonrhai/Djerma": "Songhai",
    "Jamaican patois": "Jamaican Patois",
    "Melanesian pidgin": "Melanesian Pidgin",
    "Cabo Verdian": "Cabo Verdean",
    "Hiligaynon/Ilonggo": "Hiligaynon",
    "Bikol/Bicol": "Bikol",
    "Bisaya/Binisaya": "Cebuano",
    "Pangasinan/Panggalato": "Pangasinan",
    "Bapounou/Eschira": "Bapounou",
    "Samoan/English": "Samoan",
    "Nama/Damara": "Nama",
    "Tamazight languages": "Tamazight",
    "Gurmancema": "Gourmantche",
    "Niuean and others": "Niuean",
    "Norfolk": "Norfuk",
}
LANGUAGE_PAIRS = {
    "Spanish and Guarani": ("Spanish", "Guarani"),
    "Yom and Yoruba": ("Yom", "Yoruba"),
    "Ewe and Mina": ("Ewe", "Mina"),
    "Kabye and Dagomba": ("Kabye", "Dagomba"),
    "Gilaki and Mazandarani": ("Gilaki", "Mazandarani"),
    "French Lingala and Monokutuba": ("French", "Lingala", "Monokutuba"),
    "Turkmen and Syriac": ("Turkmen", "Syriac"),
    "Niuean and English": ("Niuean", "English"),
}
LANGUAGE_JUNK = re.compile(r"\b(languages?|dialects?|Indigenous|not used|others?|Turkic|Indian)\b|[<>\d]")

RELIGIONS = {
    "Muslim": "Islam",
    "Islam": "Islam",
    "Sunni Muslim": "Sunni Islam",
    "Christian": "Christianity",
    "Christians": "Christianity",
    "Christianity": "Christianity",
    "Roman Catholic": "Roman Catholicism",
    "Catholic": "Roman Catholicism",
    "Protestant": "Protestantism",
    "Hindu": "Hinduism",
    "Hindus": "Hinduism",
    "Jehovah's Witness": "Jehovah's Witnesses",
    "Jehovah's Witnesses": "Jehovah's Witnesses",
    "Jehovah Witness": "Jehovah's Witnesses",
    "Buddhist": "Buddhism",
    "Buddhism": "Buddhism",
    "Buddhists": "Buddhism",
    "Orthodox": "Orthodox Christianity",
    "Christian Orthodox": "Orthodox Christianity",
    "Eastern Orthodox Christian": "Eastern Orthodoxy",
    "Eastern Orthodox": "Eastern Orthodoxy",
    "Jewish": "Judaism",
    "Judaism": "Judaism",
    "Church of Jesus Christ": "Latter-day Saints",
    "Latter Day Saints": "Latter-day Saints",
    "Evangelical": "Evangelicalism",
    "Rastafarian": "Rastafari",
    "Sikh": "Sikhism",
    "Seventh Day Adventist": "Seventh-day Adventism",
    "Adventist": "Adventism",
    "Pentecostal": "Pentecostalism",
    "Baha'i": "Baha'i Faith",
    "Baha'is": "Baha'i Faith",
    "Lutheran": "Lutheranism",
    "Evangelical Lutheran": "Evangelical Lutheranism",
    "Druze": "Druze faith",
    "Anglican": "Anglicanism",
    "Taoist": "Taoism",
    "Russian Orthodox": "Russian Orthodoxy",
    "Greek Orthodox": "Greek Orthodoxy",
    "Serbian Orthodox": "Serbian Orthodoxy",
    "Romanian Orthodox": "Romanian Orthodoxy",
    "Ethiopian Orthodox": "Ethiopian Orthodoxy",
    "Eritrean Orthodox": "Eritrean Orthodoxy",
    "Animist": "Animism",
    "Greek Catholic": "Greek Catholicism",
    "Methodist": "Methodism",
    "Presbyterian": "Presbyterianism",
    "Calvinist": "Calvinism",
    "Shintoism": "Shinto",
    "Vodoun": "Vodun",
    "Vodou": "Vodou",
    "Jains": "Jainism",
    "Armenian Apostolic": "Armenian Apostolic Church",
    "Armenian Apostolic Christian": "Armenian Apostolic Church",
    "Church of Sweden": "Church of Sweden",
    "Church of Norway": "Church of Norway",
    "Church of England": "Church of England",
    "Kimbanguist": "Kimbanguism",
    "Modekngei": "Modekngei",
    "Lamaistic Buddhist": "Lamaistic Buddhism",
    "Badimo": "Badimo",
    "Bon": "Bon",
    "Kirat": "Kirat",
    "New Apostolic": "New Apostolic Church",
    "Bektashi": "Bektashism",
    "Winti": "Winti",
    "Umbanda and Candomblé": "Umbanda",
    "Iglesia ni Cristo": "Iglesia ni Cristo",
    "Salvation Army": "Salvation Army",
    "Evangelical Lutheran Church of Iceland": "Evangelical Lutheran Church of Iceland",
    "Ekalesia Niue": "Ekalesia Niue",
    "Baptist": "Baptist faith",
    "Old Believer": "Old Believers",
}

PLURALS = {
    "lei": "leu", "leva": "lev", "koruny": "koruna", "emalangeni": "lilangeni", "belarusian rubles": "Belarusian ruble", "kroner": "krone", "kronor": "krona", "kronur": "krona",
    "zlotych": "zloty", "maloti": "loti", "meticais": "metical", "colones": "colon", "quetzales": "quetzal",
    "konvertibilna markas": "convertible mark", "leke": "lek", "togrog/tugriks": "tugrik", "euros": "euro",
    "patacas": "pataca", "reals": "real", "nuevo sol": "nuevo sol", "new israeli shekels": "new Israeli shekel",
    "balboas": "balboa", "lempiras": "lempira", "cedis": "cedi", "laris": "lari", "drams": "dram", "soms": "som",
    "forints": "forint", "kips": "kip", "kyats": "kyat", "leones": "leone", "nairas": "naira", "pulas": "pula",
    "riels": "riel", "ringgits": "ringgit", "dobras": "dobra", "dalasis": "dalasi", "gourdes": "gourde",
    "bolivianos": "boliviano", "bolivars": "bolivar", "afghanis": "afghani", "ouguiyas": "ouguiya",
    "cordobas": "cordoba", "patacas ": "pataca",
}  # fmt: skip
CURRENCY_BY_CODE = {
    "XOF": "West African CFA franc",
    "XAF": "Central African CFA franc",
    "XPF": "CFP franc",
    "CNY": "yuan renminbi",
    "RMB": "yuan renminbi",
    "BAM": "convertible mark",
    "EUR": "euro",
    "NIO": "cordoba",
}
UNITS = (
    "dollar pound franc rupee peso dinar shilling rial riyal lira dirham kwacha escudo ruble manat denar mark guilder"
)

PRODUCTS = {
    "corn": "maize", "oil": "petroleum", "phosphate": "phosphates", "chickens": "chicken", "packaged medicines": "packaged medicine",
    "ground nuts": "groundnuts", "peanuts": "groundnuts", "titanium ore": "titanium", "chromium ore": "chromium", "chrome": "chromium",
    "eggplant": "eggplants", "fruit": "fruits", "papaya": "papayas", "clays": "clay", "pyrite": "pyrites",
    "tropical fruit": "tropical fruits", "gems": "gemstones", "diamond": "diamonds", "hydroelectricity": "hydropower",
    "cucumbers/gherkins": "cucumbers", "mangoes/guavas": "mangoes", "pumpkins/squash": "pumpkins", "chillies/peppers": "chillies",
    "lemons/limes": "lemons", "carrots/turnips": "carrots", "vehicle parts/accessories": "vehicle parts", "lamb/mutton": "lamb",
    "coconuts/brazil nuts/cashews": "nuts", "tangerines/mandarins": "tangerines", "cantaloupes/melons": "melons",
    "pumpkins/squash ": "pumpkins", "peaches/nectarines": "peaches", "cauliflower/broccoli": "cauliflower",
    "industrial acids/oils/alcohols": "industrial chemicals", "iron": "iron ore", "aluminum ore": "bauxite",
    "hardwoods": "timber", "lumber": "timber", "wood": "wood", "natural gas ": "natural gas", "gas": "natural gas",
}  # fmt: skip
PRODUCT_JUNK = re.compile(
    r"negl|small|potential|possib|climate|beach|\band\b|some |limited|low-grade|minor|undetermined|unexploited|reserves|"
    r"deposits|fertile|deepwater|hardwood|whales|marine products|minerals$|likely|few |many |wide |abundant|extensive|none|foster|state|water$|other|\(|\d|islands",
)

ORGANIZATIONS: dict[str, tuple[str, str]] = {
    "EU": ("European Union", "political and economic union of European states"),
    "NATO": ("North Atlantic Treaty Organization", "military alliance of European and North American states"),
    "OPEC": ("Organization of the Petroleum Exporting Countries", "group of oil-exporting countries"),
    "OAPEC": ("Organization of Arab Petroleum Exporting Countries", "group of Arab oil-exporting countries"),
    "ASEAN": ("Association of Southeast Asian Nations", "regional organization of Southeast Asian states"),
    "AU": ("African Union", "continental organization of African states"),
    "LAS": ("Arab League", "regional organization of Arab states"),
    "G-7": ("Group of Seven", "club of seven large industrial democracies"),
    "G-20": ("Group of Twenty", "forum of the world's major economies"),
    "BRICS": ("BRICS", "group of large emerging economies"),
    "OECD": ("Organisation for Economic Co-operation and Development", "club of mostly high-income market economies"),
    "Mercosur": ("Mercosur", "trade bloc of South American states"),
    "Caricom": ("Caribbean Community", "regional organization of Caribbean states and territories"),
    "ECOWAS": ("Economic Community of West African States", "regional bloc of West African states"),
    "SADC": ("Southern African Development Community", "regional bloc of southern African states"),
    "EAC": ("East African Community", "regional bloc of East African states"),
    "COMESA": ("Common Market for Eastern and Southern Africa", "free-trade area in eastern and southern Africa"),
    "CIS": ("Commonwealth of Independent States", "association of former Soviet republics"),
    "EAEU": ("Eurasian Economic Union", "economic union of post-Soviet states"),
    "GCC": ("Gulf Cooperation Council", "union of Arab monarchies on the Gulf"),
    "OAS": ("Organization of American States", "continental organization of the Americas"),
    "OIC": ("Organization of Islamic Cooperation", "organization of states with Muslim populations"),
    "CPLP": ("Community of Portuguese Language Countries", "association of Portuguese-speaking states"),
    "OIF": ("International Organization of La Francophonie", "association of French-speaking states"),
    "Schengen Convention": ("Schengen Area", "European zone without internal border checks"),
    "EMU": ("Economic and Monetary Union", "group of European states sharing monetary policy"),
    "Benelux": ("Benelux", "union of three small western European states"),
    "Arctic Council": ("Arctic Council", "forum of states with Arctic lands"),
    "NC": ("Nordic Council", "body for cooperation among Nordic parliaments"),
    "SAARC": ("South Asian Association for Regional Cooperation", "regional organization of South Asian states"),
    "APEC": ("Asia-Pacific Economic Cooperation", "forum of economies around the Pacific"),
    "PIF": ("Pacific Islands Forum", "regional organization of Pacific island states"),
    "EFTA": ("European Free Trade Association", "free-trade group of non-EU European states"),
    "CSTO": ("Collective Security Treaty Organization", "military alliance of post-Soviet states"),
    "CERN": ("European Organization for Nuclear Research", "European laboratory for particle physics"),
    "ESA": ("European Space Agency", "space agency run by European states"),
    "Quad": ("Quadrilateral Security Dialogue", "security dialogue of four Indo-Pacific states"),
    "USMCA": ("United States-Mexico-Canada Agreement", "trade agreement of three North American states"),
    "ANZUS": ("ANZUS", "security treaty of three Pacific states"),
    "D-8": ("Developing Eight", "group of eight developing states with Muslim populations"),
    "AMU": ("Arab Maghreb Union", "union of North African Arab states"),
    "IGAD": ("Intergovernmental Authority on Development", "regional bloc in the Horn of Africa"),
    "ECO": ("Economic Cooperation Organization", "economic organization of western and central Asian states"),
    "WAEMU": ("West African Economic and Monetary Union", "monetary union of West African states"),
    "SACU": ("Southern African Customs Union", "customs union of five southern African states"),
    "CAN": ("Andean Community", "trade bloc of Andean states"),
    "Pacific Alliance": ("Pacific Alliance", "trade bloc of Latin American Pacific states"),
    "CBSS": ("Council of the Baltic Sea States", "forum of states around the Baltic"),
    "BSEC": ("Organization of the Black Sea Economic Cooperation", "economic organization around the Black Sea"),
    "SICA": ("Central American Integration System", "regional organization of Central American states"),
    "OECS": ("Organization of Eastern Caribbean States", "organization of small eastern Caribbean islands"),
    "BIMSTEC": ("Bay of Bengal Initiative", "grouping of states around the Bay of Bengal"),
    "LCBC": ("Lake Chad Basin Commission", "commission of states around Lake Chad"),
    "CE": ("Council of Europe", "European organization for human rights and democracy"),
    "GUAM": ("GUAM Organization for Democracy and Economic Development", "grouping of four post-Soviet states"),
    "OSCE": ("Organization for Security and Co-operation in Europe", "security organization of the northern hemisphere"),
    "AOSIS": ("Alliance of Small Island States", "alliance of low-lying island countries"),
    "IEA": ("International Energy Agency", "energy agency of industrial oil-importing states"),
}  # fmt: skip
# memberships that the source still lists although they have ended
ENDED = {
    ("United Kingdom", "EU"), ("Qatar", "OPEC"), ("Ecuador", "OPEC"), ("Russia", "CE"), ("Ukraine", "CIS"), ("Angola", "OPEC"),
    ("India", "OECD"), ("Brazil", "OECD"), ("Indonesia", "OECD"), ("South Africa", "OECD"),
}  # fmt: skip
NOT_A_MEMBER = re.compile(
    r"de facto|observer|associate|partner|candidate|dialogue|pending|nonmember|suspended|correspondent|guest|cooperating|signatory|applicant|consultative|withdr|acceding|NGO|committee|nonregional|subbureau"
)

GOVERNMENT = re.compile(
    r"(?:(?:federal|unitary|presidential|semi-presidential|parliamentary|constitutional|absolute|communist|theocratic|democratic) )*"
    r"(?:republic|monarchy|democracy|federation|party-led state|state)(?: under a constitutional monarchy)?",
)
FORMER_STATES = {
    "Soviet Union": "union of fifteen republics dissolved in 1991",
    "Yugoslavia": "former federation of South Slav republics",
    "Ottoman Empire": "former Turkish-ruled empire around the Mediterranean",
    "Soviet Russia": "early Soviet state formed after the revolution",
}


def languages(raw: str) -> tuple[str, ...]:
    """The clean language names in one item of the source; none where it names no single language."""
    raw = raw.strip()
    if raw in LANGUAGE_PAIRS:
        return LANGUAGE_PAIRS[raw]
    raw = LANGUAGES.get(raw, raw)
    if LANGUAGE_JUNK.search(raw) or "/" in raw or " and " in raw or " or " in raw or not re.match(r"[A-Z']", raw):
        return ()
    return (raw,)


def currency(raw: str, code: str) -> str:
    """The singular English name of a currency."""
    if code in CURRENCY_BY_CODE:
        return CURRENCY_BY_CODE[code]
    raw = re.sub(r"\s+", " ", raw.strip())
    if raw.lower() in PLURALS:
        return PLURALS[raw.lower()]
    words = raw.split()
    last = words[-1].lower()
    last = PLURALS.get(last, last[:-1] if last.endswith("s") and last[:-1] in UNITS.split() else last)
    return " ".join([*words[:-1], last])


def product(raw: str) -> str:
    """The clean name of a commodity, or an empty string."""
    raw = PRODUCTS.get(raw.strip(), raw.strip())
    return "" if PRODUCT_JUNK.search(raw) or len(raw.split()) > 3 or "/" in raw else raw
