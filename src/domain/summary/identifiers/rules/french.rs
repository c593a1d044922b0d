//! French rules.

use super::table::RuleTable;

pub const TABLE: RuleTable =
    RuleTable { fillers: FILLERS, idle: IDLE, rules: RULES, order: ORDER, noise: NOISE, polite: POLITE, words: WORDS };

const FILLERS: &str = "ok|oui|non|bon|bien|merci|bonjour|salut|alors|et|mais|aussi|donc|ah|s'il te plait|s'il vous plait|stp|svp|au fait|puis|ensuite|maintenant|encore|putain|merde|bordel|tu peux|peux-tu|pourrais-tu|pouvez-vous|pourriez-vous|en fait|enfin";

const ORDER: &str = r"(?:^|[,;:] ?(?:et |mais |alors |puis )*|\b(?:et|mais|puis|alors) )";

const NOISE: &str = r"\b(?:putain de|foutus?|foutues?|de merde) ";

const POLITE: &str = r"^[^a-z]*(?:peux-tu|pourrais-tu|pouvez-vous|pourriez-vous|tu peux|tu pourrais)\b.*\b(?:toujours|jamais|desormais|dorenavant|a partir de)\b";

const WORDS: &[&str] = &[
    "le", "la", "les", "des", "est", "et", "pas", "ne", "je", "tu", "vous", "un", "une", "pour", "que", "dans", "avec",
    "sur", "du", "il", "ce", "jamais", "toujours", "au", "aux", "sans", "en", "n", "l", "d", "qu", "sont", "nous",
    "mon", "mes", "doit", "utilise", "ou", "faut", "plus", "reponds", "code", "avant", "apres", "cette", "c", "j",
    "de", "se", "pas", "veux",
];

const IDLE: &[&str] = &[
    r"\b(?:je ne|j'|je|on) (?:n'ai |ai )?(?:sais|comprends|vois|crois|pense|suis|connais)[^,]{0,10}\b(?:pas|jamais|toujours)?\b",
    r"\b(?:ca|cela|elle|ils|test|tests|c'est|est|sont|a|ont|n'a|n'est|marche|fonctionne|echoue|plante) (?:ne )?(?:[a-z]+ )?(?:toujours|jamais)\b",
    r"\bne t'inquiete(?:z)? pas\b|\bne vous inquietez pas\b|\bil doit (?:y avoir|etre)\b|\b(?:ca|cela) doit\b|\bpas de (?:probleme|souci|soucis|panique|resultat|reponse|chance)\b",
];

const RULES: &[&str] = &[
    r"\b(?:desormais|dorenavant|a partir de maintenant|a partir d'aujourd'hui|a l'avenir|en aucun cas|sous aucun pretexte|en toutes circonstances|chaque fois|a chaque fois|systematiquement|jusqu'a nouvel ordre)\b",
    r"@(?:jamais|toujours)\b",
    r"^(?:[a-z]+e|[a-z]+s|[a-z]+ez|[a-z]+er|[a-z]+re|[a-z]+ir)\b[^?]{0,40}\b(?:toujours|jamais|uniquement|seulement|exclusivement)\b",
    r"@(?:ne |n')[a-z' -]{1,40}\b(?:pas|jamais|plus|rien|aucun|aucune|que)\b",
    r"\b(?:tu|vous|nous|on) (?:ne |n')(?:dois|devez|doit|devons|peux|pouvez|utilise|utilisons|utilises|veux|voulons)[^?]{0,20}\b(?:pas|jamais|plus|que)\b",
    r"\b(?:il faut|il ne faut|il est (?:interdit|obligatoire|imperatif|essentiel)|tu dois|vous devez|(?:doit|doivent|devra|devront) (?:toujours |imperativement |absolument |rester |etre |contenir |avoir |respecter |passer |jamais ))",
    r"\b(?:ne doit|ne doivent|ne dois|ne devez|ne peut|ne peuvent) (?:pas|jamais|plus|rien|en aucun)\b",
    r"@(?:evite|evitez|assure-toi|assurez-vous|veille|veillez|n'oublie|n'oubliez|rappelle-toi|rappelez-vous|souviens-toi|souvenez-vous|retiens|retenez|note(?:z)? (?:que|bien)|fais attention|faites attention|prends garde|arrete|arretez|cesse|cessez|abstiens-toi|limite-toi|limitez-vous|tiens-toi|tenez-vous|contente-toi|privilegie|privilegiez|prefere|preferez|respecte|respectez|suis les|suivez les)\b",
    r"@(?:utilise|utilisez|utiliser|emploie|employez|ecris|ecrivez|mets|mettez|prends|prenez|nomme|nommez|renvoie|retourne)\b[^?]{1,80}(?:\bau lieu d|\bplutot que\b|,? (?:et )?pas\b|\bet non\b|,? jamais\b)",
    r"^(?:utilise|utilisez|emploie|employez) (?:uniquement |seulement |toujours )?(?:des |les |le |la |l'|du )?[a-z0-9+#.-]+(?: [a-z0-9]+)?[.!]*$|^(?:utilise|utilisez) [^?]{1,60}\bpour (?:tous|toutes|chaque)\b",
    r"@(?:reponds|repondez|ecris|ecrivez|parle|parlez|explique|expliquez|commente|commentez|redige|redigez)\b[^?]{0,40}\b(?:en (?:francais|anglais|allemand|espagnol|japonais|une phrase|deux phrases|quelques|moins de|[0-9]+|bref)|brievement|simplement|poliment|de facon (?:concise|breve))\b|^(?:en|uniquement en) (?:francais|anglais)\b",
    r"@(?:garde|gardez|laisse|laissez|reste|restez|maintiens|maintenez)\b[^?]{1,60}\b(?:court|courts|courte|courtes|simple|simples|bref|concis|concise|concises|propre|stable|compatible|intact|intacte|tel quel|telle quelle|tels quels|tranquille|sous|dans|petit|petits|petites|lisible|inchange|inchangee|au courant)\b",
    r"@(?:sois|soyez) (?:[a-z]+ )?(?:bref|breve|concis|concise|prudent|prudente|precis|precise|poli|honnete|direct|rigoureux|prudents)\b",
    r"\b(?:je|nous|on) (?:ne |n')?(?:veux|voulons|veut|aime|aimons)[^?]{0,15}\b(?:pas|plus|aucun|aucune|jamais)\b|\b(?:je|nous) (?:prefere|preferons|prefererais|deteste|detestons)\b|\bje veux (?:que (?:tu|vous|tout|chaque)|uniquement|seulement|toujours|tout)\b|\bj'aime (?:quand|les|que|mieux)\b|\bj'aimerais mieux\b",
    r"^(?:pas de |pas d'|aucun |aucune |sans |zero )[a-z0-9][a-z0-9 '/-]{1,60}[.!]*$|, (?:et )?(?:pas de |pas d'|sans |aucun |aucune )[a-z][a-z '-]{1,40}[.!]*$",
    r"\bsans (?:nouvelles?|nouveau|ajouter|modifier|toucher|changer|casser|utiliser|demander|dependances?|aucun|aucune|installer|commentaires?)\b",
    r"^(?:tres )?(?:important|attention|note|nb|n\.b\.|regle|regles|contrainte|contraintes|rappel|budget|delai|style|langue|format|condition|consigne|consignes)(?: [0-9]+)? ?[:!-] *[a-z0-9$]",
    r"@(?:ne )?[^?]{0,40}\b(?:au maximum|au plus|maximum|max|pas plus de|au moins|minimum|moins de|jusqu'a|au minimum) [0-9$][^?]{0,40}(?:[.!]|$)|\b[0-9][0-9., ]*[a-z$]* (?:maximum|max|au maximum|au plus|minimum)[.!]*$",
    r"\bbudget\b[^?]*[0-9$]|\b(?:nous avons|on a|j'ai) (?:seulement |un budget de )?[0-9$][0-9. ]* ?(?:\$|euros?|dollars?)",
    r"\b(?:avant|d'ici(?: a)?|pour|jusqu'(?:a|au)|au plus tard)(?: le| la| ce| cette)? (?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain|ce soir|soir|midi|fin de|semaine prochaine|[0-9]{1,2} (?:janvier|fevrier|mars|avril|mai|juin|juillet|aout|septembre|octobre|novembre|decembre)|[0-9]{4}-[0-9]{2}|[0-9]{1,2}h)",
    r"@(?:lance|lancez|execute|executez|demande|demandez|verifie|verifiez|commite|commitez|fais|faites|relis|teste|testez|previens|prevenez|ajoute|ajoutez|documente|documentez)\b[^?]{1,80}\b(?:avant (?:de|chaque|tout|toute)|apres chaque|a chaque|pour chaque|si (?:tu|vous|quelque)|en cas de)\b",
    r"^(?:avant (?:de|chaque)|quand (?:tu|vous)|si (?:tu|vous)|apres chaque|a chaque|en cas de|lorsque (?:tu|vous)) [^?]{1,80}",
    r"\b(?:est|sont) (?:strictement )?(?:interdit|interdite|interdits|interdites|obligatoire|obligatoires|autorise|autorisee|hors limites?)\b|\b(?:tu peux|vous pouvez) (?:uniquement|seulement|librement)\b|\btu as le droit\b|\bne (?:touche|touchez|modifie|modifiez) que\b|\bpas besoin de\b|\bplutot que\b[^?]*[.!]$",
    r"^(?:oublie|oubliez) (?:ce que j|la regle)\b|^j'ai change d'avis\b|\bfinalement\b[^?]*\b(?:utilise|reponds|garde|mets|prends)\b",
];
