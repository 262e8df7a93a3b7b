"""Kinds of pages that job boards, registers, timetables and statistics serve: one form, many
records."""

from __future__ import annotations

from hazard_site import COUNT, Site, kind, linked_data, listed, slug, table
from hazard_texts import BODY, DISHES, JOB, MONTHS, NOTICE


def _posting(city: str, number: int) -> str:
    place = {"@type": "Place", "address": {"addressLocality": city}}
    return linked_data(**{"@type": "JobPosting"}, identifier=number, jobLocation=place)


@kind()
def jobs_by_city(site: Site) -> None:
    """job ads of one text and title that differ in the city"""
    text = site.text(JOB, 10)
    for number, city in enumerate(site.cities(), 4_070_011):
        body = f"<h1>Software engineer (m/f/d)</h1><p>{city}, full time</p>{text}"
        site.add(f"/jobs/{number}", city, body, "Software engineer (m/f/d)")


@kind()
def jobs_by_city_and_title(site: Site) -> None:
    """job ads of one text that differ in the city, in titles and linked data too"""
    text = site.text(JOB, 10)
    for number, city in enumerate(site.cities(), 4_070_011):
        title = f"Nurse in {city}"
        site.add(f"/acme/jobs/{number}", city, f"<h1>{title}</h1><p>{city}</p>{text}", title,
                 _posting(city, number))  # fmt: skip


@kind()
def jobs_by_number(site: Site) -> None:
    """job ads that differ in the number of the requisition and the date"""
    text = site.text(JOB, 10)
    for number, (_, day) in zip(site.numbers(1000, 9999), site.dates(), strict=True):
        body = f"<h1>Warehouse worker</h1><p>JR-{number}, posted {day}</p>{text}"
        site.add(f"/en-US/careers/job/JR-{number}", number, body, "Warehouse worker")


@kind()
def flats(site: Site) -> None:
    """flats of one landlord that differ in rooms, area, rent and street"""
    text = site.text(BODY, 4)
    for number, name in enumerate(site.people(), 7_711_001):
        street = f"{name.split()[1]}straße {number % 90 + 1}"
        line = f"{number % 4 + 1} rooms, {number % 70 + 30} m², €{number % 900 + 400} / {street}"
        body = f"<h1>Flat to let</h1><p>{line}</p>{text}"
        site.add(f"/apa/d/flat-to-let/{number}.html", number, body, "Flat to let")


@kind()
def course_dates(site: Site) -> None:
    """dates of one course"""
    text = site.text(BODY, 6)
    for day, said in site.dates():
        body = f"<h1>First aid course</h1><p>{said}, 9:00 to 17:00</p>{text}"
        site.add(f"/courses/first-aid?date={day}", day, body, "First aid course")


@kind()
def performances(site: Site) -> None:
    """performances of one play, with the day in the address and in a line of its own"""
    text = site.text(BODY, 5)
    for day, said in site.dates():
        body = f"<h1>The Tempest</h1><div>{said}</div><div>19:30</div>{text}"
        event = linked_data(**{"@type": "Event"}, name="The Tempest", startDate=f"{day}T19:30")
        site.add(f"/event/the-tempest/{day}/", day, body, "The Tempest", event)


@kind()
def appointments(site: Site) -> None:
    """appointments that differ in the time element alone"""
    text = site.text(NOTICE, 7)
    for day, said in site.dates():
        body = f'<h1>Sitting of the council</h1><time datetime="{day}">{said}</time>{text}'
        site.add(f"/council/sitting/{day}", day, body, "Sitting of the council")


@kind()
def concerts(site: Site) -> None:
    """concerts of one tour that differ in city, hall and day"""
    text = site.text(BODY, 5)
    for city, (day, said) in zip(site.cities(), site.dates(), strict=True):
        body = f"<h1>The Long Tour</h1><p>{said}, {city}, Stadthalle</p>{text}"
        site.add(f"/tour/{slug(city)}-{day}", city, body, "The Long Tour: tickets")


@kind()
def departures(site: Site) -> None:
    """timetables of the stops of a bus line"""
    for minute, city in enumerate(site.cities()):
        rows = [(f"{hour:02}:{(minute + at) % 60:02}" for at in (3, 23, 43)) for hour in range(6)]
        body = f"<h1>Line 12</h1><p>{city}</p>{table(*map(tuple, rows))}"
        site.add(f"/lines/12/stops/{minute}", city, body, "Line 12: timetable")


@kind()
def timetables(site: Site) -> None:
    """timetables under one title that differ in times alone"""
    for line in range(COUNT):
        rows = [
            tuple(f"{hour:02}:{(line * 4 + at) % 60:02}" for at in (3, 23)) for hour in range(9)
        ]
        body = f"<h1>Departures</h1><p>{site.sentences(NOTICE, 1)}</p>{table(*rows)}"
        site.add(f"/timetable?line={line}", line, body, "Departures")


@kind()
def companies(site: Site) -> None:
    """companies of a register that differ in name, number and seat"""
    text = site.text(NOTICE, 7)
    rows = zip(site.people(), site.cities(), site.numbers(10_000, 99_999), strict=True)
    for name, city, number in rows:
        entry = table(("Name", f"{name} GmbH"), ("Seat", city), ("Number", f"HRB {number}"))
        site.add(f"/register/entry?id={number}", number, f"<h1>Register entry</h1>{entry}{text}",
                 "Register of companies")  # fmt: skip


@kind()
def patents(site: Site) -> None:
    """entries of a register that differ in a number and a day"""
    text = site.text(NOTICE, 7)
    for number, (_, day) in zip(site.numbers(100_000, 999_999), site.dates(), strict=True):
        entry = table(("File number", f"EP {number}"), ("Filed", day), ("Status", "granted"))
        site.add(f"/patents/EP{number}", number, f"<h1>Patent</h1>{entry}{text}", "Patent")


@kind()
def planning(site: Site) -> None:
    """planning applications that differ in the number of a house and of the case"""
    text = site.text(NOTICE, 7)
    for number in range(1, COUNT + 1):
        line = f"Case 26/{number + 400:05}: single storey rear extension, {number * 2} Mill Lane"
        body = f"<h1>Application</h1><p>{line}</p>{text}"
        site.add(f"/planning/case/26-{number + 400:05}", number, body, "Planning application")


@kind()
def doctors(site: Site) -> None:
    """entries of a directory that differ in a name and a telephone number"""
    text = site.text(NOTICE, 7)
    for name, number in zip(site.people(), site.numbers(100_000, 999_999), strict=True):
        body = f"<h1>Find a doctor</h1><p>Dr. {name}, telephone 030 {number}</p>{text}"
        site.add(f"/doctors/{slug(name)}", name, body, "Find a doctor")


@kind()
def staff(site: Site) -> None:
    """half-empty profiles of staff: a name in the title, no word about it"""
    for name in site.people():
        body = f"<h1>{name}</h1><p>No biography has been added.</p>"
        site.add(f"/people/{slug(name)}", name, body, name)


@kind()
def branches(site: Site) -> None:
    """branches of a bank that differ in a street and a telephone number"""
    text = site.text(BODY, 5)
    for name, number in zip(site.people(), site.numbers(100_000, 999_999), strict=True):
        line = f"{name.split()[1]} street {number % 99}, telephone {number}"
        body = f"<h1>Branch</h1><p>{line}</p><p>Open from 9:00 to 17:00.</p>{text}"
        site.add(f"/branches/{number}", number, body, "Our branches")


@kind()
def weather(site: Site) -> None:
    """the weather in cities: a name and a dozen numbers"""
    text = site.text(NOTICE, 5)
    for city in site.cities():
        rows = [(site.chance.randint(-9, 35) for _ in range(6)) for _ in range(2)]
        body = f"<h1>Weather</h1><p>{city}</p>{table(*map(tuple, rows))}{text}"
        site.add(f"/weather/{slug(city)}", city, body, "Weather")


@kind()
def statistics(site: Site) -> None:
    """tables of statistics of one form, under one title, that differ in numbers"""
    names = ("Inhabitants", "Households", "Schools", "Area in ha", "Vehicles", "Births", "Deaths")
    text = site.text(NOTICE, 6)
    for district in range(1, COUNT + 1):
        rows = [(name, site.chance.randint(10, 99_999)) for name in names]
        body = f"<h1>Key figures</h1>{table(*rows)}{text}"
        site.add(f"/statistics/{district:05}", district, body, "Key figures")


@kind()
def draws(site: Site) -> None:
    """results of a lottery: a day and six numbers"""
    text = site.text(NOTICE, 6)
    for day, said in site.dates():
        drawn = " ".join(map(str, sorted(site.numbers(1, 50, 6))))
        body = f"<h1>Results</h1><p>{said}: {drawn}</p>{text}"
        site.add(f"/results/{day}", day, body, "Lottery results")


@kind()
def tides(site: Site) -> None:
    """tide tables of days: times and heights"""
    text = site.text(NOTICE, 5)
    for day, said in site.dates():
        rows = [
            (f"{site.chance.randint(0, 23):02}:{site.chance.randint(0, 59):02}",
             f"{site.chance.random() * 4:.2f} m") for _ in range(4)
        ]  # fmt: skip
        body = f"<h1>Tides</h1><p>{said}</p>{table(*rows)}{text}"
        site.add(f"/tides/{day}", day, body, "Tide table")


@kind()
def graves(site: Site) -> None:
    """records of persons that differ in a name and two years"""
    text = site.text(NOTICE, 6)
    for name, year in zip(site.people(), site.numbers(1820, 1930), strict=True):
        body = f"<h1>Record</h1><p>{name}, {year}-{year + 61}</p>{text}"
        site.add(f"/records/{year}-{slug(name)}", name, body, "Cemetery records")


@kind()
def matches(site: Site) -> None:
    """results of matches: two teams and a score"""
    text = site.text(NOTICE, 6)
    teams = zip(site.cities(), site.cities(), strict=True)
    for number, (home, guest) in enumerate(teams):
        line = f"{home} - {guest} {number % 5}:{number % 3}"
        site.add(f"/match/{number + 900}", number, f"<h1>Match</h1><p>{line}</p>{text}", "Match")


@kind()
def servings(site: Site) -> None:
    """a recipe for N persons, ?servings=N, that differs in amounts"""
    text = site.text(BODY, 5)
    for number in range(1, COUNT + 1):
        amounts = [f"{number * 50} g flour", f"{number * 20} ml milk", f"{number} eggs"]
        body = f"<h1>Pancakes</h1><p>For {number}</p>{listed(amounts)}{text}"
        site.add(f"/recipes/pancakes?servings={number}", number, body, "Pancakes")


@kind()
def converters(site: Site) -> None:
    """pages of a converter: one number in one unit and in another"""
    text = site.text(NOTICE, 6)
    for inches in site.numbers(2, 200):
        line = f"{inches} inches are {inches * 2.54:.2f} cm."
        body = f"<h1>Inches to centimetres</h1><p>{line}</p>{text}"
        site.add(f"/convert/{inches}-inches", inches, body, "Inches to centimetres")


@kind()
def menus_of_days(site: Site) -> None:
    """the menus of a canteen: a day and a dish"""
    text = site.text(NOTICE, 6)
    for (day, said), dish in zip(site.dates(), site.shuffled(DISHES)[:COUNT], strict=True):
        body = f"<h1>Today's menu</h1><p>{said}: {dish}</p>{text}"
        site.add(f"/menu/{day}", day, body, "Canteen")


@kind()
def month_reports(site: Site) -> None:
    """reports of months that differ in the month's name and a total"""
    text = site.text(NOTICE, 7)
    for month, total in zip(MONTHS, site.numbers(10_000, 99_999, 12), strict=True):
        body = f"<h1>Monthly report</h1><p>{month}: {total} visitors in all museums.</p>{text}"
        site.add(f"/reports/{slug(month)}", month, body, "Monthly report")
