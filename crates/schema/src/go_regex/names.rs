//! The classes that have names in Go's expressions.

/// The members of `[:name:]`, or of `[:^name:]` with the caret.
pub(super) fn posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "0-9A-Za-z",
        "^alnum" => "[^0-9A-Za-z]",
        "alpha" => "A-Za-z",
        "^alpha" => "[^A-Za-z]",
        "ascii" => r"\x{0}-\x{7F}",
        "^ascii" => r"[^\x{0}-\x{7F}]",
        "blank" => r"\t\x{20}",
        "^blank" => r"[^\t\x{20}]",
        "cntrl" => r"\x{0}-\x{1F}\x{7F}",
        "^cntrl" => r"[^\x{0}-\x{1F}\x{7F}]",
        "digit" => "0-9",
        "^digit" => "[^0-9]",
        "graph" => r"\x{21}-\x{7E}",
        "^graph" => r"[^\x{21}-\x{7E}]",
        "lower" => "a-z",
        "^lower" => "[^a-z]",
        "print" => r"\x{20}-\x{7E}",
        "^print" => r"[^\x{20}-\x{7E}]",
        "punct" => r"\x{21}-\x{2F}\x{3A}-\x{40}\x{5B}-\x{60}\x{7B}-\x{7E}",
        "^punct" => r"[^\x{21}-\x{2F}\x{3A}-\x{40}\x{5B}-\x{60}\x{7B}-\x{7E}]",
        "space" => r"\x{9}-\x{D}\x{20}",
        "^space" => r"[^\x{9}-\x{D}\x{20}]",
        "upper" => "A-Z",
        "^upper" => "[^A-Z]",
        "word" => "0-9A-Za-z_",
        "^word" => "[^0-9A-Za-z_]",
        "xdigit" => "0-9A-Fa-f",
        "^xdigit" => "[^0-9A-Fa-f]",
        _ => return None,
    })
}

/// The members of `\p{name}`.
///
/// Go ignores case, blanks, dashes and underscores; scripts whose own names have an underscore it cannot find.
pub(super) fn unicode(name: &str) -> Option<String> {
    let plain: String = name
        .chars()
        .filter(|character| !matches!(character, '_' | '-' | ' '))
        .map(|character| character.to_ascii_lowercase())
        .collect();
    match plain.as_str() {
        "any" => return Some(r"\x{0}-\x{10FFFF}".to_owned()),
        "ascii" => return Some(r"\x{0}-\x{7F}".to_owned()),
        "assigned" => return Some(r"\P{Cn}".to_owned()),
        "cs" | "surrogate" => return Some("[^\\x{0}-\\x{10FFFF}]".to_owned()),
        "cntrl" => return Some(r"\p{Cc}".to_owned()),
        "digit" => return Some(r"\p{Nd}".to_owned()),
        "punct" => return Some(r"\p{P}".to_owned()),
        _ => {}
    }
    let known = |names: &[&str]| names.binary_search(&plain.as_str()).is_ok();
    if known(&CATEGORIES) {
        Some(format!(r"\p{{gc={plain}}}"))
    } else if known(&SCRIPTS) {
        Some(format!(r"\p{{sc={plain}}}"))
    } else {
        None
    }
}

/// Go's categories and their long names, in lower case and without underscores; ascending.
#[rustfmt::skip]
static CATEGORIES: [&str; 75] = [
    "c", "casedletter", "cc", "cf", "closepunctuation", "cn", "co", "combiningmark", "connectorpunctuation",
    "control", "currencysymbol", "dashpunctuation", "decimalnumber", "enclosingmark", "finalpunctuation",
    "format", "initialpunctuation", "l", "lc", "letter", "letternumber", "lineseparator", "ll", "lm", "lo",
    "lowercaseletter", "lt", "lu", "m", "mark", "mathsymbol", "mc", "me", "mn", "modifierletter",
    "modifiersymbol", "n", "nd", "nl", "no", "nonspacingmark", "number", "openpunctuation", "other",
    "otherletter", "othernumber", "otherpunctuation", "othersymbol", "p", "paragraphseparator", "pc", "pd",
    "pe", "pf", "pi", "po", "privateuse", "ps", "punctuation", "s", "sc", "separator", "sk", "sm", "so",
    "spaceseparator", "spacingmark", "symbol", "titlecaseletter", "unassigned", "uppercaseletter", "z",
    "zl", "zp", "zs",
];

/// Go's scripts without an underscore in their names; ascending.
#[rustfmt::skip]
static SCRIPTS: [&str; 118] = [
    "adlam", "ahom", "arabic", "armenian", "avestan", "balinese", "bamum", "batak", "bengali", "bhaiksuki",
    "bopomofo", "brahmi", "braille", "buginese", "buhid", "carian", "chakma", "cham", "cherokee",
    "chorasmian", "common", "coptic", "cuneiform", "cypriot", "cyrillic", "deseret", "devanagari", "dogra",
    "duployan", "elbasan", "elymaic", "ethiopic", "georgian", "glagolitic", "gothic", "grantha", "greek",
    "gujarati", "gurmukhi", "han", "hangul", "hanunoo", "hatran", "hebrew", "hiragana", "inherited",
    "javanese", "kaithi", "kannada", "katakana", "kawi", "kharoshthi", "khmer", "khojki", "khudawadi",
    "lao", "latin", "lepcha", "limbu", "lisu", "lycian", "lydian", "mahajani", "makasar", "malayalam",
    "mandaic", "manichaean", "marchen", "medefaidrin", "miao", "modi", "mongolian", "mro", "multani",
    "myanmar", "nabataean", "nandinagari", "newa", "nko", "nushu", "ogham", "oriya", "osage", "osmanya",
    "palmyrene", "phoenician", "rejang", "runic", "samaritan", "saurashtra", "sharada", "shavian",
    "siddham", "signwriting", "sinhala", "sogdian", "soyombo", "sundanese", "syriac", "tagalog", "tagbanwa",
    "takri", "tamil", "tangsa", "tangut", "telugu", "thaana", "thai", "tibetan", "tifinagh", "tirhuta",
    "toto", "ugaritic", "vai", "vithkuqi", "wancho", "yezidi", "yi",
];
