"""Kinds of pages that shops and price lists serve: what differs is what is sold."""

from __future__ import annotations

from hazard_site import COUNT, Site, kind, linked_data, listed, slug, table
from hazard_texts import BODY, COLOURS, COUNTRIES

BINDINGS = ("Hardcover", "Paperback", "Audiobook", "E-book", "Leather", "Large-print", "Braille")


def _offer(name: str, price: str) -> str:
    offer = {"@type": "Offer", "price": price, "priceCurrency": "EUR"}
    return linked_data(**{"@context": "https://schema.org", "@type": "Product"}, name=name,
                       offers=offer)  # fmt: skip


@kind()
def numbered_products(site: Site) -> None:
    """products called 'Product N' with one description"""
    text = site.text(BODY, 5)
    for number in range(101, 101 + COUNT):
        name = f"Product {number}"
        site.add(f"/product/{number}", number, f"<h1>{name}</h1>{text}<p>SKU {number}</p>", name)


@kind()
def article_numbers(site: Site) -> None:
    """spare parts under one title that differ in the article number"""
    text = site.text(BODY, 6)
    for number in site.numbers(10_000, 99_999):
        line = f"<p>Article no. {number}-{number % 7}</p>"
        site.add(f"/parts/{number}", number, f"<h1>Spare part</h1>{line}{text}", "Spare part")


@kind()
def sizes(site: Site) -> None:
    """screws that differ in a size which the title tells"""
    text = site.text(BODY, 5)
    site.goods(
        [
            (f"Screw M{width} x {length}", f"/screws/m{width}x{length}", f"Pack of 100, M{width}")
            for width in (3, 4, 5, 6)
            for length in (16, 20, 30, 45)
        ],
        text,
    )


@kind()
def units(site: Site) -> None:
    """power supplies that differ in a voltage or a unit"""
    values = [f"{value} {unit}" for value in (5, 9, 12, 15, 19, 24, 48) for unit in ("V", "mV")]
    text = site.text(BODY, 6)
    for number, value in enumerate(values):
        body = f"<h1>Power supply</h1>{text}" + table(("Output", value), ("Input", "230 V"))
        site.add(f"/supplies/{number}", value, body, "Power supply")


@kind()
def prices(site: Site) -> None:
    """articles of one name that differ in price and stock"""
    text = site.text(BODY, 6)
    for number in range(COUNT):
        price = site.price()
        line = f'<p class="price">{price} €</p><p>{number * 3 + 1} in stock</p>'
        site.add(f"/p/{number}", number, f"<h1>Remainders</h1>{line}{text}", "Remainders",
                 _offer("Remainders", price))  # fmt: skip


@kind()
def colours(site: Site) -> None:
    """shirts that ?color= tells apart, in one word and a picture"""
    text = site.text(BODY, 6)
    for colour in COLOURS:
        body = f'<h1>Shirt</h1><img src="/img/shirt-{colour}.jpg"><p>Colour: {colour}</p>{text}'
        site.add(f"/shirts/oxford?color={colour}", colour, body, "Oxford shirt")


@kind()
def variants(site: Site) -> None:
    """variants of a product that ?variant= tells apart, in price and size"""
    text = site.text(BODY, 6)
    for number in range(COUNT):
        price, width = site.price(), 80 + 10 * number
        body = f"<h1>Carpet</h1><p>{width} x {width * 2} cm</p><p>€{price}</p>{text}"
        site.add(f"/products/carpet?variant={40_123_000 + number}", number, body, "Carpet",
                 _offer("Carpet", price))  # fmt: skip


@kind()
def used_cars(site: Site) -> None:
    """used cars under ?id= that differ in year, mileage and price"""
    for number, driven in zip(site.numbers(1000, 9999), site.numbers(5, 250), strict=True):
        rows = (
            ("First registration", 2008 + number % 15),
            ("Mileage", f"{driven},{number % 1000:03} km"),
            ("Price", f"{number * 3 % 20 + 3},900 €"),
        )
        body = f"<h1>Golf 1.6 Comfortline</h1>{table(*rows)}<p>Accident-free, non-smoker car.</p>"
        site.add(f"/cars/details?id={number}", number, body, "Golf 1.6 Comfortline")


@kind()
def country_prices(site: Site) -> None:
    """price lists of countries, /xx/pricing, that differ in country and price"""
    text = site.text(BODY, 6)
    for code, country, currency in COUNTRIES:
        line = f"{country}: {currency} {site.price()} a month, tax included."
        body = f"<h1>Pricing</h1><p>{line}</p>{text}"
        site.add(f"/{code}/pricing", code, body, "Pricing")


@kind()
def vintages(site: Site) -> None:
    """wines that differ in the year"""
    text = site.text(BODY, 6)
    for year in range(2010, 2010 + COUNT):
        name = f"Riesling {year}"
        site.add(f"/wines/riesling-{year}", year, f"<h1>{name}</h1>{text}", name)


@kind()
def gift_cards(site: Site) -> None:
    """gift cards that differ in the amount"""
    text = site.text(BODY, 6)
    for amount in (5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80, 100, 150, 200):
        body = f"<h1>Gift card</h1><p>Value: €{amount}</p>{text}"
        site.add(f"/gift-cards/{amount}", amount, body, "Gift card")


@kind()
def formats(site: Site) -> None:
    """formats of a book that differ in one word and the ISBN"""
    text = site.text(BODY, 6)
    for number, name in zip(site.numbers(100_000, 999_999, 7), BINDINGS, strict=True):
        body = f"<h1>The Long Road</h1><p>{name}, ISBN 978-3-{number}-1</p>{text}"
        site.add(f"/books/978-3-{number}-1", name, body, "The Long Road")


@kind("markup")
def pictures_for_sale(site: Site) -> None:
    """prints that differ in the picture alone"""
    text = site.text(BODY, 6)
    for number in site.numbers(1000, 9999):
        body = f'<h1>Untitled</h1><img src="/prints/{number}/large.jpg">{text}'
        site.add(f"/prints/{number}", number, body, "Untitled")


@kind()
def category_pages(site: Site) -> None:
    """pages of a category, ?page=N, that list other articles"""
    for page in range(1, COUNT + 1):
        entries = [f"{name}, {site.price()} €" for name in site.things(8)]
        path = f"/category/garden?page={page}"
        site.add(path, page, f"<h1>Garden</h1>{listed(entries)}", "Garden")


@kind()
def filtered_categories(site: Site) -> None:
    """lists that a filter in the query makes, with most articles in common"""
    names = site.things(16)
    for number, colour in enumerate(COLOURS):
        entries = names[number:] + names[:number]
        body = f"<h1>All articles</h1><p>Filter: {colour}</p>{listed(entries[:10])}"
        site.add(f"/all?filter_color={colour}", colour, body, "All articles")


@kind()
def empty_categories(site: Site) -> None:
    """categories without articles, which only their names tell apart"""
    for name in site.things():
        body = f"<h1>{name}s</h1><p>No products were found matching your selection.</p>"
        site.add(f"/category/{slug(name)}s", name, body, f"{name}s")


@kind()
def missing_descriptions(site: Site) -> None:
    """products without description or reviews, which only their names tell apart"""
    for name in site.things():
        body = f"<h1>{name}</h1><p>No description available.</p><p>There are no reviews yet.</p>"
        site.add(f"/product/{slug(name)}", name, body, f"{name} - Shop")


@kind()
def products_by_name(site: Site) -> None:
    """products of one description that differ in the name"""
    text = site.text(BODY, 6)
    site.goods([(name, f"/products/{slug(name)}", f"Buy {name} here") for name in site.things()],
               text)  # fmt: skip


@kind()
def names_in_text_alone(site: Site) -> None:
    """products that one title serves and one word tells apart"""
    text = site.text(BODY, 6)
    for thing in site.things():
        body = f"<h1>Product details</h1><p>{thing.split()[0]} model</p>{text}"
        site.add(f"/product.php?item={slug(thing)}", thing, body, "Product details")


@kind("title")
def names_in_titles_alone(site: Site) -> None:
    """products whose names stand in the title alone"""
    text = site.text(BODY, 6)
    for thing in site.things():
        site.add(f"/product/{slug(thing)}", thing, f"<p>Product details</p>{text}", thing)


@kind()
def rooms(site: Site) -> None:
    """rooms of a hotel that differ in beds, size and price"""
    text = site.text(BODY, 5)
    for number in range(COUNT):
        line = f"{number % 4 + 1} beds, {18 + 2 * number} m², from €{site.price()} a night"
        body = f"<h1>Our rooms</h1><p>{line}</p>{text}"
        site.add(f"/rooms/{number + 101}", number, body, "Our rooms")


@kind()
def exchange_rates(site: Site) -> None:
    """exchange rates of currencies, with one sentence and a table of numbers"""
    text = site.text(BODY, 4)
    for code, _, currency in COUNTRIES:
        rows = [(amount, f"{amount * site.chance.random():.4f}") for amount in (1, 5, 10, 50, 100)]
        body = f"<h1>Exchange rate</h1><p>1 {currency} in NOK</p>{table(*rows)}{text}"
        site.add(f"/rates/{code}-nok", code, body, "Exchange rates")


@kind()
def quotes_of_shares(site: Site) -> None:
    """quotes of one share on several days"""
    text = site.text(BODY, 5)
    for day, said in site.dates():
        rows = [(name, site.price()) for name in ("Open", "High", "Low", "Close")]
        body = f"<h1>ACME Inc.</h1><p>{said}</p>{table(*rows)}{text}"
        site.add(f"/quotes/acme/{day}", day, body, "ACME Inc. quotes")


@kind()
def delivery_areas(site: Site) -> None:
    """pages of postcodes to which a shop delivers"""
    text = site.text(BODY, 6)
    for code in site.numbers(10_000, 99_999):
        body = f"<h1>Delivery to {code}</h1><p>We deliver to {code} every day.</p>{text}"
        site.add(f"/delivery/{code}", code, body, f"Delivery to {code}")


@kind()
def landing_pages(site: Site) -> None:
    """pages for search engines, one a city, with its name in every paragraph"""
    parts = [site.sentences(BODY, 3) for _ in range(5)]
    for city in site.cities():
        text = "".join(f"<p>Plumbers in {city}: {part}</p>" for part in parts)
        site.add(f"/plumber-{slug(city)}", city, f"<h1>Plumbers in {city}</h1>{text}",
                 f"Plumbers in {city}")  # fmt: skip


@kind()
def routes(site: Site) -> None:
    """flights that two names of cities tell apart"""
    text = site.text(BODY, 6)
    starts, ends = site.cities(), site.cities()
    pairs = [(a, b) for a, b in zip(starts, ends, strict=True) if a != b]
    site.goods(
        [
            (f"Cheap flights {a} - {b}", f"/flights/{slug(a)}-{slug(b)}", f"From {a} to {b}")
            for a, b in pairs
        ],
        text,
    )


@kind()
def memory_sizes(site: Site) -> None:
    """telephones that differ in the size of their memory"""
    text = site.text(BODY, 6)
    for size in (8, 16, 32, 64, 128, 256, 512, 1024):
        body = f"<h1>Phone X</h1><p>{size} GB</p>{text}"
        site.add(f"/phones/x-{size}gb", size, body, "Phone X")


@kind()
def licences(site: Site) -> None:
    """licences of a program that differ in the number of users"""
    text = site.text(BODY, 6)
    for number in (1, 2, 3, 5, 10, 15, 20, 25, 50, 75, 100, 250, 500, 1000):
        body = f"<h1>Office suite</h1><p>Licence for {number} users</p>{text}"
        site.add(f"/licences/{number}", number, body, "Office suite")
