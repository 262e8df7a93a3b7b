from crawl_spiders import Visit


def test_a_near_duplicate_reaches_no_callback(crawl):
    outcome = crawl(Visit, "/a/1", "/a/2", "/b/1", settings={"NEARDUP_STORE": "toy:"})
    assert outcome.notes == ["/a/1", "/b/1"]
    print(outcome)
