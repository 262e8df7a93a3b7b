"""Sentences of several hundred characters, and encodings that web pages in them have had."""
# ruff: noqa: RUF001

SENTENCES = {
    "ja": (
        "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじ"
        "めじめした所でニャーニャー泣いていた事だけは記憶している。吾輩はここで始めて人間"
        "というものを見た。しかもあとで聞くとそれは書生という人間中で一番獰悪な種族であっ"
        "たそうだ。この書生というのは時々我々を捕えて煮て食うという話である。しかしその当"
        "時は何という考もなかったから別段恐しいとも思わなかった。"
    ),
    "ru": (
        "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива "
        "по-своему. Все смешалось в доме Облонских. Жена узнала, что муж был в "
        "связи с бывшею в их доме француженкою-гувернанткой, и объявила мужу, что "
        "не может жить с ним в одном доме. Положение это продолжалось уже третий "
        "день и мучительно чувствовалось и самими супругами, и всеми членами семьи, "
        "и домочадцами."
    ),
    "ko": (
        "나는 그 사람을 언제나 선생님이라고 불렀다. 그러므로 여기서도 그저 선생님이라고 "
        "쓸 뿐 본명을 밝히지는 않겠다. 그것은 세상을 꺼리는 조심이라기보다는 그 "
        "편이 나로서는 자연스럽기 때문이다. 나는 그 사람의 기억을 불러일으킬 때마다 "
        "곧 선생님이라고 부르고 싶어진다. 붓을 들어도 마음은 마찬가지다. 서먹한 "
        "머리글자 같은 것은 도무지 쓸 생각이 나지 않는다."
    ),
    "zh": (
        "我冒了严寒，回到相隔二千余里，别了二十余年的故乡去。时候既然是深冬；渐近故乡时，"
        "天气又阴晦了，冷风吹进船舱中，呜呜的响，从篷隙向外一望，苍黄的天底下，远近横着几"
        "个萧索的荒村，没有一些活气。我的心禁不住悲凉起来了。阿！这不是我二十年来时时记得"
        "的故乡？我所记得的故乡全不如此。我的故乡好得多了。但要我记起他的美丽，说出他的佳"
        "处来，却又没有影像，没有言辞了。"
    ),
    "zh-tw": (
        "我與父親不相見已二年餘了，我最不能忘記的是他的背影。那年冬天，祖母死了，父親的差"
        "使也交卸了，正是禍不單行的日子。我從北京到徐州，打算跟著父親奔喪回家。到徐州見著"
        "父親，看見滿院狼藉的東西，又想起祖母，不禁簌簌地流下眼淚。父親說：事已如此，不必"
        "難過，好在天無絕人之路！"
    ),
    "el": (
        "Σα βγεις στον πηγαιμό για την Ιθάκη, να εύχεσαι νάναι μακρύς ο δρόμος, "
        "γεμάτος περιπέτειες, γεμάτος γνώσεις. Τους Λαιστρυγόνας και τους Κύκλωπας, "
        "τον θυμωμένο Ποσειδώνα μη φοβάσαι, τέτοια στον δρόμο σου ποτέ σου δεν "
        "θα βρεις, αν μέν' η σκέψις σου υψηλή, αν εκλεκτή συγκίνησις το πνεύμα "
        "και το σώμα σου αγγίζει."
    ),
    "he": (
        "בראשית ברא אלהים את השמים ואת הארץ והארץ היתה תהו ובהו וחשך על פני תהום "
        "ורוח אלהים מרחפת על פני המים ויאמר אלהים יהי אור ויהי אור וירא אלהים את "
        "האור כי טוב ויבדל אלהים בין האור ובין החשך"
    ),
    "ar": (
        "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق وقد وهبوا عقلا وضميرا "
        "وعليهم أن يعامل بعضهم بعضا بروح الإخاء لكل إنسان حق التمتع بكافة الحقوق "
        "والحريات الواردة في هذا الإعلان دون أي تمييز"
    ),
    "fr": (
        "Longtemps, je me suis couché de bonne heure. Parfois, à peine ma bougie "
        "éteinte, mes yeux se fermaient si vite que je n’avais pas le temps de "
        "me dire : « Je m’endors. » Et, une demi-heure après, la pensée qu’il était "
        "temps de chercher le sommeil m’éveillait ; je voulais poser le volume "
        "que je croyais avoir encore dans les mains et souffler ma lumière."
    ),
    "de": (
        "Als Gregor Samsa eines Morgens aus unruhigen Träumen erwachte, fand er "
        "sich in seinem Bett zu einem ungeheueren Ungeziefer verwandelt. Er lag "
        "auf seinem panzerartig harten Rücken und sah, wenn er den Kopf ein wenig "
        "hob, seinen gewölbten, braunen, von bogenförmigen Versteifungen geteilten "
        "Bauch, auf dessen Höhe sich die Bettdecke, zum gänzlichen Niedergleiten "
        "bereit, kaum noch erhalten konnte."
    ),
    "es": (
        "En un lugar de la Mancha, de cuyo nombre no quiero acordarme, no ha mucho "
        "tiempo que vivía un hidalgo de los de lanza en astillero, adarga antigua, "
        "rocín flaco y galgo corredor. Una olla de algo más vaca que carnero, salpicón "
        "las más noches, duelos y quebrantos los sábados, lantejas los viernes, "
        "algún palomino de añadidura los domingos, consumían las tres partes de "
        "su hacienda."
    ),
    "sv": (
        "Det var en gång en pojke. Han var så där en fjorton år gammal, lång och "
        "ranglig och linhårig. Inte stort dugde han till: han hade mest av allt "
        "lust att sova och äta, och därnäst tyckte han om att ställa till odygd. "
        "Nu var det en söndagsmorgon, och pojkens föräldrar höllo på att göra sig "
        "i ordning att gå i kyrkan."
    ),
    "en": (
        "It was the best of times, it was the worst of times, it was the age of "
        "wisdom — it was the age of foolishness. “It was the epoch of belief,” "
        "he said, it’s the epoch of incredulity, it was the season of Light, it "
        "was the season of Darkness, it was the spring of hope, it was the winter "
        "of despair, we had everything before us, we had nothing before us."
    ),
}

ENCODINGS = [
    ("ja", "shift_jis"), ("ja", "euc_jp"), ("ru", "cp1251"), ("ru", "koi8_r"), ("ko", "euc_kr"),
    ("zh", "gbk"), ("zh", "gb2312"), ("zh-tw", "big5"), ("el", "cp1253"), ("he", "cp1255"),
    ("ar", "cp1256"), ("fr", "cp1252"), ("de", "cp1252"), ("es", "cp1252"), ("sv", "cp1252"),
    ("en", "cp1252"),
]  # fmt: skip


def page_of(language):
    sentences = SENTENCES[language]
    return (
        f"<!DOCTYPE html><html><head><title>{sentences[:20]}</title>"
        "<script>var a = 1; function f(x) { return x + a }</script></head><body>"
        '<ul class="nav"><li><a href="/">Home</a></li><li><a href="/about">About</a></li></ul>'
        f"<h1>{sentences[:12]}</h1><p>{sentences}</p><p>{sentences[::-1]}</p></body></html>"
    )
