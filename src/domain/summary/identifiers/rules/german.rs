//! German rules.

use super::table::RuleTable;

pub const TABLE: RuleTable =
    RuleTable { fillers: FILLERS, idle: IDLE, rules: RULES, order: ORDER, noise: NOISE, polite: POLITE, words: WORDS };

const FILLERS: &str = "ok|okay|ja|nein|gut|super|danke|hallo|also|und|aber|so|ach|bitte|noch|noch etwas|ubrigens|dann|nun|jetzt|auch|einfach|eigentlich|verdammt|scheisse|mensch|kannst du|konntest du|wurdest du|konnten sie|wurden sie|doch";

const ORDER: &str = r"(?:^|[,;:] ?(?:und |aber |dann |bitte |auch )*|\b(?:und|aber|bitte|dann|sondern) )";

const NOISE: &str = r"\b(?:verdammt(?:e|en|er|es)?|verfluchte?n?|scheiss|beschissene?n?) ";

const POLITE: &str = r"^[^a-z]*(?:kannst|konntest|wurdest|konnen|konnten|wurden) (?:du|sie|ihr)\b.*\b(?:immer|nie|niemals|ab jetzt|in zukunft|kunftig)\b";

const WORDS: &[&str] = &[
    "der", "die", "das", "und", "ist", "nicht", "ich", "du", "es", "ein", "eine", "bitte", "auf", "mit", "zu", "den",
    "im", "keine", "wir", "fur", "nur", "sie", "sind", "nie", "immer", "kein", "keinen", "von", "vor", "muss", "darf",
    "soll", "wenn", "dass", "mir", "mich", "ohne", "statt", "ab", "bis", "auch", "aber", "dem", "des", "einen",
    "werden", "wird", "antworte", "verwende", "benutze",
];

const IDLE: &[&str] = &[
    r"\b(?:es|er|das|dies|da|ich|man|test|tests|fehler|funktioniert|geht|ist|sind|war|waren|schlagt|bricht|kommt|passiert|hat|habe|haben|wird|wurde|noch) (?:immer|nie|niemals)\b|\bimmer (?:noch|wieder|mehr|weniger|fehl)\b|\b(?:fehlschlagt|fehl)\b",
    r"\b(?:es|das|da|dies|er|hier) muss\b|\bmuss (?:wohl|irgend|daran|an)\b|\bmuss ich\b|\bich muss\b",
    r"\b(?:weiss|glaube|denke|verstehe|kenne|finde|sehe) (?:ich )?(?:es |das )?nicht\b|\b(?:ich|wir) (?:weiss|glaube|denke|verstehe|kann|konnen)\b",
    r"^(?:kein(?:e|en)? (?:ahnung|sorge|sorgen|problem|probleme|fehler|anderung|anderungen|zeit|lust|ergebnis|ergebnisse|ausgabe|eile|angst|wunder))\b",
    r"\b(?:kein|keine|nicht) mehr (?:da|vorhanden|gefunden)\b|\bum [^,]{1,40} zu vermeiden\b",
];

const RULES: &[&str] = &[
    r"\b(?:ab jetzt|ab sofort|von nun an|von jetzt an|kunftig|in zukunft|zukunftig|fortan|jedes mal|jedesmal|grundsatzlich|auf keinen fall|unter keinen umstanden|keinesfalls|auf gar keinen fall|in jedem fall|bis auf weiteres)\b",
    r"@(?:nie|niemals|immer|stets)\b [a-z]",
    r"^(?:[a-z]+e|[a-z]+t|[a-z]+en sie|du (?:sollst|darfst|musst)|wir [a-z]+en|sie [a-z]+en) [^?]{0,50}\b(?:nie|niemals|immer|stets)\b",
    r"\b(?:nie|niemals|immer|stets) [^?]{0,60}[a-z]{2,}en[.!]*$",
    r"\b(?:darf|durfen|darfst|durft) (?:[a-z]+ )*?(?:nicht|nur|nie|niemals|kein|keine|keinen|ausschliesslich)\b|\b(?:darf|durfen|darfst) [^?]{0,60}\b(?:nicht|nur|keine?n?) [^?]{0,40}(?:werden|sein|[a-z]+en)\b",
    r"\b(?:du|sie|ihr) (?:darfst|durfen|durft)\b",
    r"\b(?:muss|mussen|musst) [^?]{0,80}(?:sein|werden|bleiben|haben|[a-z]{3,}en)[.!]*$|\b(?:muss|mussen) (?:immer|unbedingt|zuerst)\b",
    r"\bsoll(?:en|te|ten|st)? [^?]{0,40}\b(?:nicht|nie|niemals|immer|nur|kein|keine|keinen|bleiben|hochstens|mindestens)\b",
    r"@(?:bitte )?(?:nicht|nur|ausschliesslich|lediglich) [a-z0-9]",
    r"@(?:verwende|benutze|nutze|nimm|schreib|schreibe|mach|mache|lege|setze|fuge|andere|losche|committe|pushe|fasse|fass|ruf|rufe|installiere|starte|erzeuge|erstelle|fuhre|verwenden sie|benutzen sie|nutzen sie|andern sie|schreiben sie|machen sie|loschen sie|entferne|entfernen sie|vergiss|vergessen sie|verandere|ruhr|ruhre|verschiebe|antworte|antworten sie|nenne|nennen sie|kommentiere|ubersetze|stelle|stell|gib|geben sie|sprich|sag|sage) [^?]{0,70}\b(?:nicht|nie|niemals|kein|keine|keinen|keinerlei|nur|statt|anstatt|anstelle|ausschliesslich|hochstens|maximal|mindestens)\b",
    r"\b[a-z]+, (?:nicht|keine?n?|statt) [a-z -]{2,40}[.!]*$",
    r"^(?:bitte )?keine?n? [a-z0-9][a-z0-9 /'-]{1,60}[.!]*$|\b(?:und|aber|,) (?:bitte )?keine?n? [a-z][a-z -]{1,40}[.!]*$",
    r"@(?:vermeide|vermeiden sie|achte|achten sie|denk daran|denke daran|denken sie daran|vergiss nicht|vergessen sie nicht|merk dir|merke dir|merken sie sich|beachte|beachten sie|stell sicher|stelle sicher|stellen sie sicher|sorge dafur|pass auf|bedenke|halte dich|halt dich|halten sie sich|beschranke dich|bleib bei|bleibe bei|hor auf|lass die finger|verzichte|verzichten sie|frag(?:e)? (?:mich |immer |bitte )?(?:vorher|erst|zuerst|nach|bevor))\b",
    r"@(?:halte?|lass|lasse|halten sie|lassen sie) [^?]{1,60}\b(?:kurz|knapp|klein|einfach|stabil|unverandert|unberuhrt|sauber|in ruhe|so wie|wie (?:sie|es|er) (?:ist|sind)|kompatibel|konsistent|unter|auf dem laufenden|geheim|minimal)\b",
    r"@(?:antworte|antworten sie|schreib|schreibe|schreiben sie|sprich|erklare|erklar|kommentiere|dokumentiere|formuliere)\b[^?]{0,40}\b(?:auf (?:deutsch|englisch|franzosisch|spanisch|japanisch)|kurz|knapp|in (?:ganzen|kurzen|einfachen|hochstens|maximal|stichpunkten|[0-9]+)|hoflich|formlos|sachlich)\b|^(?:bitte )?(?:auf|nur) (?:deutsch|englisch)\b|\bauf deutsch\b[^?]{0,30}\b(?:antworten|schreiben|sein|bleiben)\b",
    r"\bzuerst[.!]*$|^(?:erst|zuerst) [a-z]|@(?:nimm|verwende|benutze|nutze) (?:lieber|stattdessen|doch|besser)\b",
    r"@(?:sei|seien sie) (?:[a-z]+ )?(?:kurz|knapp|vorsichtig|prazise|genau|hoflich|ehrlich|konkret|sparsam|freundlich|kritisch|grundlich)\b",
    r"\b(?:ich|wir) (?:mochte|mochten|will|wollen|brauche|brauchen) (?:[a-z]+ ){0,3}(?:nicht|kein|keine|keinen|lieber|nur|immer|nie)\b",
    r"\b(?:ich|wir) (?:bevorzuge|bevorzugen|hasse|hassen|verabscheue)\b|\bich mag (?:es nicht|keine|kein|keinen|es,? wenn|kurze|lieber)\b|\b(?:mir|uns) ist (?:[a-z]+ )?lieber\b|\blieber [a-z -]{2,40} als\b|\bich hatte (?:lieber|gern (?:immer|nur|keine))\b",
    r"^(?:sehr )?(?:wichtig|achtung|hinweis|regel|regeln|vorgabe|vorgaben|budget|frist|termin|stil|sprache|format|bedingung|einschrankung|anmerkung|bitte beachten|merke|nb)(?: [0-9]+)? ?[:!-] *[a-z0-9$]",
    r"\b(?:hochstens|maximal|mindestens|nicht mehr als|nicht langer als|unter|weniger als|bis zu) (?:[a-z]+ )?[0-9$][0-9.,]*[^?]{0,50}(?:[.!]|$|\b(?:sein|bleiben|kosten|ausgeben|dauern)\b)",
    r"\b(?:budget|ausgeben|kosten)\b[^?]*[0-9$]|\bwir haben (?:nur )?[0-9$][0-9.]* ?(?:\$|euro|dollar)",
    r"\b(?:bis|vor|spatestens|bis spatestens|bis zum|bis ende)(?: (?:zum|am|spatestens|nachsten|kommenden|dieser|der|des))* (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|morgen|heute|mittag|abend|woche|monats?|tages|[0-9]{1,2}\.|[0-9]{4}-[0-9]{2}|[0-9]{1,2} uhr)",
    r"^(?:verwende|benutze|nutze|nimm|verwenden sie|benutzen sie) (?:nur |bitte |immer )?(?:tabs|leerzeichen|[a-z0-9+#.-]+)[.!]*$|^(?:verwende|benutze|nutze|nimm) [^?]{1,50}\bfur (?:alle|jede|jeden|jedes|neue)\b",
    r"@(?:bevor|wenn|falls|sobald|solange|nach jede[mnr]|vor jede[mnr]|bei jede[mnr]) [^?]{1,80}|\b(?:vor|nach|bei|fur) (?:jede[mnr]) (?:commit|anderung|schritt|push|antwort|test|datei)\b",
    r"\bohne (?:neue|zusatzliche|weitere|externe|abhangigkeiten|nachfrage|ruckfrage|kommentare|emojis|[a-z]+ zu (?:andern|verandern|fragen|loschen|brechen))\b",
    r"\b(?:ist|sind) (?:[a-z]+ )?(?:verboten|tabu|pflicht|nicht erlaubt|nicht gestattet|verpflichtend|untersagt|erlaubt)\b",
    r"^(?:vergiss,? was ich|ich habe es mir anders)\b|\b(?:stattdessen|doch lieber)\b",
];
