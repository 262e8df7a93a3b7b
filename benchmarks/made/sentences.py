"""Words and sentences that the pages of `hazards.py` are made of."""


def _names(text: str) -> list[str]:
    return text.split()


def _phrases(text: str) -> list[str]:
    return text.strip().replace("\n", "|").split("|")


SHOP = """
We use cookies to run this site, to remember your basket and to learn which pages are read.
You can change your choice at any time under the link to privacy settings at the end of each page.
Orders placed before two in the afternoon leave our warehouse on the same working day.
Delivery within the country is free for orders above fifty and takes one to three working days.
Goods can be returned within thirty days, unused and in their own packaging, at our expense.
All prices include the legal rate of tax, and exclude delivery where nothing else is said.
Subscribe to our newsletter and learn about offers before everybody else does.
Your address is used for the newsletter alone, and each issue has a link that ends it.
Our customer service answers on working days between nine and five, by telephone and by mail.
We accept all usual cards, direct debit, payment in advance, and invoices for companies.
The guarantee covers faults of material and workmanship for two years from the day of delivery.
Pictures may show accessories that aren't part of the delivery, and colours differ on screens.
Spare parts are kept in stock for at least ten years after a model has left the catalogue.
Read how other customers rate us, and tell us about what you have bought here.
Companies, schools and public bodies get an offer of their own within one working day.
Batteries and old appliances can be handed in at any of our branches free of charge.
We are a family business in the third generation and employ some two hundred people.
Our terms of sale apply to all orders, and are sent to you with the confirmation.
Gift vouchers can be used for any purchase and are valid for three years from their date.
Whoever finds the same article cheaper elsewhere gets the difference back within two weeks.
Parcels are sent in cardboard that is made of waste paper, and padded with paper too.
If a parcel arrives damaged, please keep everything and send us a picture of it.
Heavy goods are brought to the kerb by a haulier who calls you the day before.
Please sign in to see the prices that were agreed with your company.
""".strip().splitlines()
"""Sentences that stand on every page of a shop."""

BODY = """
Made in one piece from a material that neither rusts nor warps, whatever the weather.
The surface is brushed by hand and can be cleaned with warm water and a soft cloth.
It comes ready to use, with a short manual in twelve languages and a set of screws.
Thanks to its low weight it can be carried in one hand and stored on any shelf.
Tested by an independent laboratory for ten thousand cycles without any sign of wear.
It fits all common systems and needs no tools for a change.
The edges are rounded, so that nothing catches and nobody is hurt.
A small lever at the side locks it in any of the five positions.
The set was awarded a prize for its plain design, and for how easily it is repaired.
All parts can be ordered one by one, and replaced by anybody with a screwdriver.
For professional users we recommend the reinforced version with a metal core.
The manufacturer donates a part of the proceeds to schools in the region.
It works between minus twenty and plus sixty degrees, in the sun and in the rain.
Two handles on the back make it simple to move even when it is fully loaded.
The seal is made of natural rubber and stays tight for many years.
A layer of felt below keeps it from slipping, and your floor from scratches.
""".strip().splitlines()
"""Sentences of descriptions."""

JOB = """
You join a team of nine people who build and run the software that our customers use every day.
Your tasks are the design of new services, their tests, and the care for those that exist.
You talk to the people who use what you build, and learn what they need before they ask for it.
You have finished a degree in a technical subject, or have learnt the same in another way.
You write clearly, in your code as well as in your mails, and like to explain what you do.
Experience with databases and with distributed systems is welcome but no condition.
We offer thirty days of leave, flexible hours, and a budget for books and conferences.
You decide on your own computer, and on how many days a week you work from home.
We care for a workplace in which people of all origins, ages and genders feel at home.
The salary depends on your experience, and we tell you the range in the first conversation.
Please send your papers as one file, and tell us when you could begin.
We answer within a week, and the whole process takes no longer than three.
Our firm was founded by four students, and is owned by those who work there.
Every fourth week all teams meet for two days and show each other what they have done.
""".strip().splitlines()
"""Sentences of job ads."""

NOTICE = """
This register is kept by the authority under the act on public information.
Entries are corrected on application by the person concerned, free of charge.
Copies that are certified can be ordered at the counter or by post.
The authority isn't liable for damage that is caused by incomplete entries.
Data may be used for any purpose if the authority is named as their source.
Press the help button to learn what the fields mean and who may see them.
Office hours are Monday to Thursday from eight to four, and Friday from eight to noon.
Anybody may object to an entry within four weeks of the day on which it was published.
The pages of this register can be read with all screen readers in common use.
Complaints about accessibility are answered by the commissioner for equal treatment.
""".strip().splitlines()
"""Sentences of public registers."""

CITIES = _names("""
Berlin Munich Hamburg Cologne Frankfurt Stuttgart Leipzig Dresden Hanover Bremen Nuremberg Essen
Dortmund Bonn Mannheim Kassel Rostock Lübeck
""")
COUNTRIES = [
    tuple(each.split(","))
    for each in _phrases("""
us,United States,USD|gb,United Kingdom,GBP|de,Germany,EUR|fr,France,EUR|jp,Japan,JPY
ch,Switzerland,CHF|se,Sweden,SEK|pl,Poland,PLN|in,India,INR|br,Brazil,BRL|ca,Canada,CAD
au,Australia,AUD|dk,Denmark,DKK|cz,Czechia,CZK
""")
]
COLOURS = _names("""
black white red blue green yellow orange brown grey silver purple turquoise beige pink
""")
FIRST = _names("""
Anna Ben Clara David Emma Felix Greta Hugo Ida Jonas Karla Leon Mia Noah Olga Paul Rosa Simon
""")
LAST = _names("""
Adler Becker Conrad Dietz Ebert Fischer Graf Hahn Iversen Jung Keller Lang Maier Neumann Ott Peters
Richter Sommer
""")
THINGS = _names("""
lamp kettle chair shelf drill saw clock basket bench ladder mirror carpet drawer toaster bucket
blanket
""")
QUALITIES = _names("""
sturdy folding wooden electric small round garden kitchen silent heavy bright classic narrow soft
outdoor simple
""")
MONTHS = _names("""
January February March April May June July August September October November December
""")
DISHES = _phrases("""
Lentil soup|Potato salad|Apple cake|Onion tart|Bean stew|Plum jam|Rye bread|Carrot pie|Pea puree
Corn fritters|Pear crumble|Leek gratin|Beet salad|Oat biscuits|Rice pudding|Fish soup
""")
WELCOMES = _phrases("""
Willkommen zu Hause|Bienvenue chez nous|Bienvenido a casa|Benvenuti a casa|Welkom thuis
Välkommen hem|Velkommen hjem|Tervetuloa kotiin|Witamy w domu|Vítejte doma|Bine ai venit acasă
Dobrodošli doma|Isten hozott itthon|Sveiki atvykę namo
""")
"""A greeting in languages."""

SAYINGS = _phrases("""
A watched pot takes its time but boils in the end.|Who mends a fence in May sleeps well in autumn.
The longest road begins at your own front door.|Cheap shoes make an expensive journey.
Nobody learns to swim by reading about the sea.|A borrowed book is read twice as fast.
Rain on the roof is music to the dry.|One honest clock is worth ten loud ones.
The fox praises the cheese, never the crow.|Small keys open the heaviest doors.
Who plants a walnut thinks of strangers.|A good question is half of the answer.
The tide waits for neither captain nor king.|Old rope knows more knots than new rope.
""")
BINDINGS = ("Hardcover", "Paperback", "Audiobook", "E-book", "Leather", "Large-print", "Braille")
