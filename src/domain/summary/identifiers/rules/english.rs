//! English rules.

use super::table::RuleTable;

pub const TABLE: RuleTable =
    RuleTable { fillers: FILLERS, idle: IDLE, rules: RULES, order: ORDER, noise: NOISE, polite: POLITE, words: WORDS };

const FILLERS: &str = "ok|okay|oke|yes|yeah|yep|nope|sure|great|good|nice|perfect|cool|thanks|thank you|thx|well|also|and|but|so|oh|ah|hey|hi|hello|hmm+|hm|btw|by the way|alright|right|please|pls|plz|kindly|just|really|again|actually|then|now|first|second(?:ly)?|finally|lastly|oh and|one more thing|dude|man|bro|my dude|guys|omfg|omg|wtf|ffs|jesus|christ|god|fucking hell|hell|fuck|damn|in addition|additionally|furthermore|plus|however|though|for the love of god|for fuck'?s sake|can you|could you|would you|will you";

/// A place where an order may begin.
const ORDER: &str =
    r"(?:^|(?:[,;:] ?| - )(?:and |but |so |then |also |please |just |no )*|\b(?:but|please|so|i said) )";

const NOISE: &str = r"\b(?:fucking|fuckin|fuckoing|goddamn|damn|bloody|freaking|frigging|stupid|the hell|the fuck) ";

const POLITE: &str = r"^[^a-z]*(?:please |ok |okay |and |also |so )*(?:can|could|would|will) you\b.*\b(?:always|never|from now on|stop [a-z]+ing|keep|avoid|don't|in (?:the )?future)\b";

const WORDS: &[&str] = &[
    "the", "is", "a", "to", "and", "of", "it", "you", "i", "in", "that", "for", "with", "on", "not", "my", "this",
    "please", "use", "are", "be", "do", "don't", "don", "your", "we", "all", "any", "or", "as", "at", "by", "if",
    "can", "have", "keep", "only", "never", "always", "from", "want", "should", "must", "but", "no", "when", "before",
    "after", "write", "make", "answer", "me", "us", "our", "new", "stop", "add", "run", "there", "what", "how", "why",
    "was", "were", "they", "them", "make", "call", "sure",
];

const IDLE: &[&str] = &[
    r"\blet me know\b.*",
    r"\b(?:never|always) [a-z]+[^su]s\b",
    r"\bnever ?mind\b",
    r"\bno (?:idea|problems?|worries|one|luck|longer|way|thanks|thank|doubt|matter|wonder|rush|clue|errors?|output|changes?|results?|difference|effect|response|reply|reason|news|sign|matching|such|it|that|that's|this|i|i'm|you|we|they|he|she|there|wait|not|just|but|and|the|yes|what|why|how|is|it's|let's|can|should|in|on|for|sorry|further|bugs?|more questions|funciona|es|se|hay|esta|puedo|entiendo|me|lo|la|tengo|sirve|pasa)\b",
    r"\bno [a-z -]{1,40} (?:found|is|was|are|were|has|had|shows?|happens?|happened|appears?|works?|worked|exists?|yet|detected|available|returned|given|left|needed|applied|reported|raised|ran|matched|loaded|produced|generated)\b",
    r"\b(?:was|were|took|takes|got|ran|measured|dropped|went|came|is already) [a-z ]{0,15}(?:at (?:least|most)|under|below|within|less than|up to|more than|no more than)\b",
    r"\bfeel free to (?:ask|let|reach|clue|contact|tell|share|correct|say)\b",
    r"\b(?:i|we|you|they|people) (?:just|really|simply|also|still|actually|honestly) (?:do not|don'?t) (?:feel|know|think|see|get|understand|have|remember|believe|care)\b",
    r"\bi(?:'m| am)? (?:also |always |usually |generally |typically |try(?:ing)? to |tend to |already )*(?:make|made|making|keep|kept|keeping|avoid|avoided|wait|waited|stay|stick|stuck)\b.*",
    r"\b(?:fly|flies|flew|leaves?|left|arrives?|arrived|departs?|departed|was|were|is|are|had|has|happened|looks?|worked|ended|it) (?:[a-z]+ )?(?:before|until|till|by)\b",
    r"\b(?:you|we|i) (?:never|always) (?:had|have|got|get|saw|see|were|are|was|am|did|do|knew|thought|said|wanted|[a-z]+ed|wonder|forget)\b",
    r"\b(?:it|that|this|which|he|she|they|there|who|i|i've|i'd|have|has|had|did|was|were|is|are|does|tests?) (?:never|always)\b",
    r"\bthere must\b|\bmust(?:'ve| have)\b|\bi must (?:admit|say|confess)\b|\bmust be (?:in|because|due|coming|caused|some|something|someone|somewhere|why|how|missing|wrong|broken|a (?:bug|problem|mistake|typo|way|reason)|kidding|me|us|the (?:reason|cause|problem|issue))\b|\b(?:it|this|that|he|she|they|you|server|service|build|cache|machine) must be (?:[a-z]+ing|tired|right|wrong|there|down|up|off|stuck|cached|old|stale|broken)\b",
    r"\b(?:do not|don'?t) (?:worry|mind|get me wrong|know|think|see|understand|recall|believe|care|panic|you (?:think|want|have|see|know|agree|get|need)|we|they|we all|really know|remember (?:what|when|how|which|where|the|if|if|why))\b",
    r"\bto (?:avoid|ensure|make sure|prevent|limit|keep|minimi[sz]e|respect|follow|match)\b",
    r"\bremember (?:when|how|what|if|that time|seeing|which|where|correctly|right)\b|\b(?:i|you|we) remember\b|\bi(?: also)? want to make sure\b",
    r"\bthe only\b|\bonly (?:problem|thing|issue|question|one|recently|reason|if|because|then|difference|see|works?|just|happens?|way|started|ones|a (?:few|bit|little|question))\b|\bi only (?:see|get|got|have|had|know|saw|just|noticed|found|did|wanted|asked)\b|\b(?:it|this|that|they|he|she|which|but|has|have|had|not|does|do|did|already|currently|now) only\b|\bwe only (?:had|saw|got|get|did)\b|\bcan only (?:see|think|imagine|assume|find|get|reproduce)\b",
    r"\byou may (?:have|be|want|notice|remember|see|know|recall|wonder|find|as well|need)\b|\bmay not (?:be|have|work|exist|need)\b",
    r"\b(?:check|checked|see|verify|confirm|tell me|tell|know|ask|wonder|wondering|look|find out|sure|determine|decide|say|understand|remember|curious|tests?|asking) (?:\w+ )?(?:if|whether)\b",
    r"\b(?:if|when(?:ever)?|once|as soon as) (?:you(?:'re| are|'ve| have)? )?(?:done|finished|ready|can|could|want|wish|like|would like|have (?:time|questions|any)|get (?:a chance|the chance|time)|need (?:anything|more|help|any)|see what|know|think|possible|needed|necessary|that helps|any|there)\b",
    r"\bkeep (?:going|trying|working|it up|looking|getting|seeing|having|on|thinking|running into|coming|happening|failing|reading|asking|checking)\b",
    r"\b(?:i|we) prefer (?:the (?:first|second|third|other|last|new|old|former|latter)|this|that|it)\b",
    r"\bif (?:i|we)(?:'d)? prefer\b|\b(?:can't|cannot|couldn't) help but\b|\b(?:don'?t|do not) want to (?:miss|come across|be|get my|find out|have to|sound|overdo|jump|seem|bother|end up|lose|risk|repeat|go through|deal|feel|hear|do anything|open)\b|\bprefer (?:working|writing|to (?:see|keep|bring|avoid a repeat))\b",
    r"\bi hate to\b|\b(?:hate|love|like) (?:it|this|that|you|them)[.!]*$",
    r"\b(?:is|are|was|were|it's|that's|isn't|aren't) (?:not )?(?:allowed|required|forbidden|prohibited) (?:by|for|because|since)\b",
    r"\bbe (?:right )?back\b|\bbe (?:careful|sure) (?:of|what you wish)\b",
    r"\b(?:it|this|that|there|which|what|why|how|he|she|they) should(?:n't| not)\b|\bshould(?:n't)? (?:we|i|it|you|that|this|there)\b",
    r"\bassum(?:e|ing) (?:you|that you|i|we)\b|\bi (?:would )?assume\b|\blimit(?:ed|s) (?:of|is|was|to)\b|\bthe limit (?:of|is|was)\b",
    r"\b(?:do|does|did|would|what do|what|which|how do|if) you (?:always|never|prefer|only)\b",
    r"\b(?:at least|at most) (?:it|that|this|we|i|one of|some|for (?:now|me)|in)\b|\bat the (?:very )?(?:least|most)\b",
    r"\buse (?:it|this|that|them|these|those|case|cases)\b|\buse (?:the|my|your|a|an|its|both|one|another|each|some|what|whatever) [a-z]+[.!]*$|\bused\b",
    r"\btest(?:s|ed)? without\b|\bno longer (?:works?|exists?|needed|fails?|there|in|valid|a|the|see|getting|shows?|appears?)\b",
];

const RULES: &[&str] = &[
    // Never, always, must.
    r"(?:@|\b(?:and|then|just|no) )(?:never|always)\b [a-z]",
    r"\b(?:you|must|should|shall|to|will|may|please|want you to|we) (?:please )?(?:never|always) [a-z]",
    r"\bmust(?:n't| not| never| always| only)?\b",
    r"\b(?:you|we) (?:cannot|can not|may not|should(?:n't| not)|shall not|are not to|aren't to|are only to)\b",
    r"\b(?:from now on|from here on|from this point|henceforth|for the rest of (?:this|the|our)|at all times|under no circumstances|no matter what|by no means|until further notice|as a (?:general )?rule|until i (?:say|tell)|unless (?:i|we|told|asked|otherwise|stated|absolutely|necessary|strictly))\b",
    r"(?:^|, ?)going forward\b|\bin (?:the )?future\b.*\b(?:always|never|don't|do not|use|please|answer|write|ask|keep|make|add|run)\b|^next time\b.*[,a-z]",
    r"^(?:very |super |extremely )?(?:important|note|nb|n\.b\.|attention|reminder|hard limit|hard rule|golden rule|rules?|constraints?|requirements?|non-?negotiable|conventions?|guidelines?|policy|budget|deadline|style|tone|format|language|target|scope|out of scope|limits?|restrictions?|preferences?)(?: (?:no\.? ?)?[0-9]+| for (?:you|all|everything))?(?:\*\*)? ?(?:[:!]|- )(?:\*\*)? *[a-z0-9$\x22'`(]",
    // Orders not to.
    r"(?:@|\b(?:and|then|just|no) )(?:do not|don'?t|do n't),? [a-z]",
    r"\b(?:to|please|you|it|so|we) (?:do not|don'?t) (?:use|touch|add|change|commit|push|break|write|want you|ever|need to|have to|allow|support|modify|edit|remove|delete|include|ship|accept|deploy|merge|mock)\b",
    r"@(?:stop|quit)(?: [a-z]+)? [a-z]+ing\b",
    r"@(?:avoid|refrain from|steer clear of|stay away from|hands off|abstain from)\b",
    r"^(?:absolutely |ever )?(?:no) (?:more |new |extra |additional |fancy |external |third[- ]party |breaking |global |magic )*[a-z][a-z0-9'/-]*s?(?: (?:in|on|for|at|with|from|please|allowed|ever|whatsoever|or|and|of|over|above|below|than|longer|before|after|unless|without|[a-z0-9-]+))*(?:, (?:please|thanks|ok))?[.!]*$",
    r"(?:,|\bwith|\band|\bbut) (?:absolutely |zero )?no (?:more |new |extra |additional |external |third[- ]party |breaking |other )?[a-z][a-z-]*s\b(?: (?:please|at all|whatsoever|anywhere|ever))?[.!]*$",
    r"\b(?:with|add|adding|introduce|using) (?:absolutely )?(?:no|zero) (?:new |extra |additional |external |third[- ]party |breaking |more |other )+[a-z]",
    r"^(?:please |do |make |build |write |implement |solve |fix |refactor |change |add |use |summari[sz]e |read |keep |try |it |without)[^?]*\bwithout (?:any |new |extra |additional |adding |changing |breaking |using |touching |editing |modifying |introducing |external |altering |removing |deleting |dependenc|deps|asking|losing|rewriting|writing |creating |installing |third|a new |comments|my )",
    r"^[a-z][^?]*\bwithout (?:editing|changing|touching|modifying|breaking|adding|asking|using|introducing)\b",
    // How to go about it.
    r"(?:@|\b(?:and|then|just) )(?:make (?:absolutely |very )?sure|ensure|be (?:very |extremely |super )?(?:sure|careful|mindful)|take care (?:to|that|not)|see to it|keep in mind|bear in mind|remember|note that|note:|don'?t forget|do not forget|beware|mind that|mind the|watch out|pay attention)\b",
    r"@only (?:[a-z]+|the [a-z]+|\W?[a-z]+)",
    r"\b(?:may|can|must|should|shall|please) only\b",
    r"^(?:use|touch|change|edit|modify|read|look at|look in|run|write|work|update|return|answer|reply|test|commit|push|consider|install|respond|search|list|include|export|format|speak)\b[^?]{0,60}\bonly\b",
    r"^[a-z ]{0,40}\b(?:english|german|french|spanish|japanese|chinese|russian|korean|italian|json|markdown|plain text|typescript|python|rust)[ -]only\b|^only (?:english|german|french|spanish|json|markdown)\b",
    r"@(?:use|write|call|name|put|make|say|return|take|go with|go for|choose|pick|store|build|format|indent|import|log|throw|pass|target|install|spell|quote|commit|sort|prefer|wrap)\b[^?]{1,90}(?:[,;] ?(?:please )?(?:not|no|never|and not|but not|and never)\b|\binstead of\b|\brather than\b|\band not\b|\bnot the\b|\bover the\b)",
    r"\buse [^?]{1,60}(?:\binstead of\b|\brather than\b)",
    r"^(?:tabs|spaces|[a-z]+(?: [a-z]+)?), (?:not|no|never) [a-z -]{2,40}[.!]*$",
    r"^use (?:only )?[^?]{1,60}\b(?:for|in|on|across|with) (?:all|every|everything|each|any|new|both|the whole|public)\b",
    r"^use (?:only )?(?:tabs|spaces|[0-9]+|two|four|eight|semicolons|single|double|camel ?case|snake ?case|kebab|pascal|british|american|metric|imperial|iso|utf|markdown|bullets?|bullet points|type hints|types|typescript|javascript|python|rust|go|java|async|await|conventional|semantic|pnpm|npm|yarn|bun|uv|pip|poetry|conda|docker|podman|git|cargo|pytest|unittest|vitest|jest|ruff|black|prettier|eslint|biome|tailwind|postgres|postgresql|sqlite|mysql|redis|react|vue|svelte|next|django|flask|fastapi|dark|light|descriptive|meaningful|short|simple|plain|clear|absolute|relative|named|default|strict|rgb|hex|functional|early|guard|const|let|english|german|french|spanish|japanese|proper|imperative|present|lowercase|uppercase|trailing|oxford|the same|existing|our|my)\b(?: ?[a-z0-9 ./'-]{0,45})?[.!]*$",
    r"(?:^|, ?(?:so |please |then )*)use [a-z0-9_+#.-]+(?: [a-z]+)?[.!]*$|^use [a-z0-9_+#.-]+ (?:for|in|as|with|when) [a-z ]{3,40}[.!]*$",
    r"^(?:make|write|do|use|create|produce|give|ask) (?:only )?(?:small|short|tiny|atomic|clean|simple|minimal|concise|descriptive|meaningful|idiomatic|readable|plain|pure|incremental|focused|self-contained|modern|safe|portable|strict|brief|precise|complete)(?: and [a-z]+)? [a-z]+(?: [a-z]+)?[.!]*$",
    r"^(?:write|put|do|build|implement|code|develop|document|keep) (?:everything|all|it all)\b[^?]*\b(?:in|with|as|under|inside)\b",
    r"^(?:name|prefix|suffix|tag|label) (?:all |every |new |test |your |the )[^?]{3,60}$",
    r"^let'?s (?:stick (?:to|with)|not|avoid|never|always|only|use)\b",
    r"^(?:nothing|nobody|no one|none)\b[^?]*\b(?:may|must|should|shall|is allowed)\b|\b(?:is|are) not (?:required|needed|necessary|allowed|an option)[.!]*$",
    r"^(?:every|each|all)\b[^?]{0,60}\b(?:needs?|requires?|gets?|ends? with|starts? with)\b",
    r"\bso no [a-z]+[.!]*$|^we [a-z]+ only\b|, we [a-z]+ only\b",
    r"^(?:speak|talk|answer|reply|write|respond)(?: to me| with me)? (?:in )?(?:english|german|french|spanish|japanese|chinese|russian|korean|italian)\b",
    r"@prefer\b|@favou?r [a-z]+ over\b",
    r"@keep\b[^?]{1,60}\b(?:short|small|simple|brief|concise|clean|minimal|readable|consistent|stable|intact|compatible|under|below|within|unchanged|alphabetical|sorted|separate|focused|focussed|tidy|dry|posted|updated|informed|as is|as-is|as it is|as they are|up to date|up-to-date|low|lean|light|in mind|in sync|backwards?|green|private|secret|professional|formal|friendly|terse|high[- ]level|to a minimum|to one|passing|tight|generic|flat|pure|idiomatic|working|quiet|to yourself|the same|running|open|alive)\b",
    r"@leave\b[^?]{1,60}\b(?:alone|as is|as-is|as it is|as they are|untouched|unchanged|intact|out of)\b",
    r"\b(?:should|must|shall|has to|have to|needs? to) (?:stay|remain)\b",
    r"@(?:stay|remain) (?:within|under|below|on|in|away|out|concise|close|compatible|consistent|focused|backward)\b|@stick (?:to|with)\b",
    r"@(?:follow|respect|obey|honou?r|match|mimic|observe)\b(?: to| with)?(?: (?:the|our|my|this|these|existing|same|general|project'?s?|house|company|team|coding|code|current|google|airbnb|surrounding|repo'?s?|repository'?s?))* (?:style|styles|styleguide|style guide|convention|conventions|pattern|patterns|guide|guides|guidelines?|rules?|standards?|pep ?8|policy|policies|naming|formatting|conventional|semver|spec|instructions|principles?|tdd|claude\.md|agents\.md)\b",
    r"@(?:adhere to|comply with|conform to|abide by|default to|assume|minimi[sz]e|maximi[sz]e|err on the side)\b",
    r"@(?:limit|restrict|cap|confine|constrain)\b[^?]{1,50}\b(?:to|at)\b",
    r"@target (?:python|node|java|rust|es[0-9]|ios|android|windows|linux|c\+\+|go|php|ruby|\.net|version|v?[0-9])",
    r"@be (?:very |extremely |more |as |less |super |a bit |bit |so |too )*(?:concise|brief|terse|short|careful|honest|specific|precise|conservative|polite|nice|critical|explicit|consistent|direct|thorough|detailed|quiet|verbose|pragmatic|formal|informal|friendly|professional|strict|kind|mindful|skeptical|sceptical|patient|respectful)\b",
    r"@(?:answer|reply|respond|speak|talk|explain|comment|document|communicate|converse|write)\b[^?]{0,40}\b(?:briefly|concisely|tersely|politely|formally|informally|in (?:short|one sentence|two sentences|one line|(?:[0-9]+|one|two|three|a few|short|plain|simple|full|complete)(?: or fewer| short)? (?:words|sentences?|lines?|bullets?|bullet points|paragraphs?|english|language)|bullet|bullets|markdown|plain|simple|lowercase|the (?:first|third|past|present|imperative))|like i'm|in at most|in under|in no more|as if i)\b",
    r"@(?:answer|reply|respond|speak|talk|communicate|converse|comment|explain|continue|write (?:everything|all[a-z ]{0,25}|code comments|comments|docs|documentation|commit messages|messages|replies|answers)|commit messages|comments|answers|replies|everything)\b[^?]{0,40}\bin (?:english|german|french|spanish|japanese|chinese|mandarin|russian|korean|italian|portuguese|dutch|polish|turkish|arabic|hindi|british|american)\b",
    r"^(?:in )?(?:english|german|french|spanish|japanese|chinese|russian|korean|italian|portuguese|dutch)(?: only)?,? (?:please|only)[.!]*$",
    r"^(?:skip|leave out|omit|drop) (?:the |all |any )?(?:explanations?|comments?|tests|intro|introductions?|preamble|summary|summaries|pleasantries|apologies|details|boilerplate)[.!]*$|^leave [a-z ]{3,30} out[.!]*$",
    r"^ignore (?:the |all |any |everything )[a-z ]{0,30}(?:folders?|director(?:y|ies)|files?|warnings?|under|in)\b|^cite (?:your|all|the) sources|^refer to [a-z]+ as\b|^use the [a-z]+ (?:system|style|convention|format|notation|theme|layout)\b",
    r"^(?:all|any|every) [a-z]+ in [a-z0-9 ]{2,30}(?:, please)?[.!]*$|^(?:amounts|dates|times|prices|names|numbers|units|ids) (?:are|go|come) (?:always )?in\b|\bmy (?:limit|maximum|budget|max) is\b",
    // When, before, after each.
    r"^(?:add|always|announce|answer|apply|ask|back up|build|bump|check|clean|close|comment|commit|confirm|consider|create|delete|deploy|describe|document|double[- ]check|edit|explain|fix|format|generate|give|handle|ignore|include|indent|install|keep|leave|lint|list|log|look|make|mark|merge|mention|mock|move|name|notify|open|pause|ping|plan|print|push|put|quote|read|rebase|refactor|remove|rename|reply|report|respond|return|review|rewrite|run|save|say|search|send|set|show|sign|skip|sort|split|squash|start|state|stop|store|summari[sz]e|tag|take|tell|test|treat|try|update|use|validate|verify|wait|warn|wrap|write)\b[^?]*\b(?:before (?:you |each |every |any |committing|pushing|merging|making|changing|deleting|editing|starting|writing|doing|running|moving|touching|adding|removing|deploying|releasing|answering|opening|creating|refactoring|installing)|after (?:each|every|any|you (?:change|edit|write|add|make|touch))|whenever|every time|each time|any ?time|when (?:you (?:write|add|change|edit|create|commit|need|are|aren't|don't|refactor|name|answer|reply|touch|make|see|hit|find|encounter)|in doubt|unsure|writing|adding|changing|editing|creating|committing|naming|replying|answering|refactoring|testing|deleting|moving)|if (?:you(?:'re| are| have| need| change| add| touch| edit| get| hit| see| can't| cannot| don't| find| must| ever)?|in doubt|unsure|anything|something|any|a|an|unclear|uncertain)\b|(?:each|every) (?:commit|change|step|time|answer|reply|response|message|pr|pull request|turn|iteration|edit|new|test|function|file|public|line|query|request|call|sentence|module|class|endpoint)|per (?:commit|pr|file|function|line|answer|message|day|request|call|test|page|section|turn|step|change)|by default|as you go|at a time|from scratch every)\b",
    r"^(?:when(?:ever)?|every time|each time|any ?time|before|after|if|once|unless|in case)\b[^?,]{2,80}, *(?:please |then |always |never |just |first |you (?:should|must|may|can) )*(?:add|announce|answer|apply|ask|back|build|bump|check|clean|close|comment|commit|confirm|create|delete|describe|do|document|don'?t|double|edit|explain|fix|format|give|go|handle|ignore|include|keep|leave|let|lint|list|log|look|make|mark|mention|name|never|always|notify|open|pause|ping|plan|print|prefer|put|quote|read|refactor|remove|rename|reply|report|respond|return|review|run|save|say|search|send|set|show|skip|split|start|state|stop|summari[sz]e|take|tell|test|treat|try|update|use|validate|verify|wait|warn|write)\b",
    r"^(?:write|ask|plan|think|test|read|check|measure|explain|design|tests|safety|quality)(?: [a-z]+)? first(?:[.!,;]|$)",
    r"^(?:one|two|three|[0-9]+) [a-z ]{2,30} (?:per|at a time|each)\b[^?]{0,40}$|^[^?]{0,24}\bone (?:step|thing|question|change|file|commit|test|task) at a time\b",
    r"^(?:all|every|each|any|no|new|public|tests?|commits?|functions?|methods?|files?|commit messages?|messages?|answers?|responses?|errors?|names?|comments?|endpoints?|migrations?|docs|documentation|dependencies|secrets?|passwords?|keys?|code|the (?:code|output|answer|summary|docs|format|style|language|report|text|email))\b[^?]{0,60}\b(?:should|shall|must|has to|have to|needs? to (?:be|stay|have|end|start|use)|may not|cannot|can't|may only|can only|go(?:es)? (?:in|into|to|under)|belongs?)\b",
    r"\bshould(?:n't| not| never| always| only| stay| remain| be kept| at (?:most|least)| be (?:no (?:more|less|longer)|at (?:most|least)))\b",
    // What is allowed, liked and wanted.
    r"\byou may\b|\b(?:you're|you are|isn't|aren't|is|are|not) (?:not |only )?allowed(?: to)?\b|\bfeel free\b|\bno need (?:to|for)\b|\b(?:you|we) (?:don'?t|do not) (?:have|need) to\b|\bit'?s (?:ok|okay|fine|alright|all right) (?:to|if you)\b|\b(?:is|are) (?:fine|ok|okay|allowed|good) (?:now|again|after all|too|as well|from now)\b|\boff[ -]limits\b|\b(?:is|are) (?:strictly |absolutely )?(?:forbidden|prohibited|mandatory|non-?negotiable|not negotiable|not acceptable|unacceptable|not an option|banned|a must|a no-?go)\b",
    r"\byou can (?:freely|always|only)\b|\bare free to\b",
    r"\b(?:i|we|i'd|we'd|i would|we would|i'll|id) (?:strongly |really |much |always |generally |usually |still |also |would )*(?:prefer|favou?r)\b|\b(?:i'd|i would|we'd) (?:much )?rather (?:have|use|pay|keep|you|we|see|write|spend|wait|fly|not (?:have|use|pay|add|fly|wait))\b|\bmy preference\b|\bi insist\b",
    r"\bi (?:really |absolutely |fucking |just |also |personally )*(?:hate|dislike|loathe|despise|can'?t stand|detest)\b [a-z]",
    r"\b(?:i|we) (?:really |just |also |definitely |absolutely |still |personally )*(?:don'?t|do not|never|no longer|won't) (?:ever |really |actually )?(?:want|like|need) (?:to |any |a |an |the |you |more |new |my |your |[a-z]{3,})",
    r"\bi (?:really |just |only )?(?:want|need|expect) (?:all|every|everything|no |only|short|small|minimal|simple|clean|plain|concise|readable|as few|as little|you to (?:always|never|only|keep|stop|avoid|use|write|answer|ask)|(?:it|them|answers|code|the (?:code|answers?|output)) (?:to be )?(?:short|simple|small|fast|clean|concise|readable|minimal))",
    r"\bi (?:really |do )?(?:like|love) (?:my (?:code|answers?|commits?|tests?|functions?|docs|comments?) |when |short|small|clean|simple|concise|plain|to have|to keep|things|code |tests |it (?:when|short|simple|clean)|things )",
    r"\bonly (?:want|need|accept|care about|have)\b [a-z0-9$]",
    // Bounds, money and dates.
    r"(?:^|@|\b(?:must|should|shall|needs?|budget|limit|want|prefer|has|have|keep|use|stay|spend|cost|be|run|takes? no|with|in|to) [^?]{0,40}?)\b(?:max(?:imum)?(?: of)?|at most|no more than|not more than|no less than|no fewer than|no longer than|no later than|at least|up to|min(?:imum)?(?: of)?|under|below|less than|fewer than|within|not exceed|never exceed|not go over|above)\b:? (?:the |about |around )?\$?[0-9][0-9.,]*",
    r"^[a-z -]{0,30}(?:\b(?:max(?:imum)?|at most|min(?:imum)?|up to|under|below|less than|fewer than|within)\b:? \$?[0-9][0-9.,]* ?[a-z%]*(?: [a-z]+){0,4}|\$?[0-9][0-9.,]* ?[a-z%]* (?:max|maximum|min|minimum|tops|at most|or less|or fewer|or more))[.!]*$",
    r"^(?:max(?:imum)?|min(?:imum)?)\b[a-z ]{0,30}(?:is|:|=|of)? ?\$?[0-9]|\b(?:budget|limit|cap) (?:for [a-z ]{1,25} )?(?:is|of|:) ?\$?[0-9]|^[a-z ]{0,20}budget:? \$?[0-9]|\b(?:we|you|i) (?:only )?have (?:only )?(?:until|till|[0-9]+ (?:minutes|hours|days|weeks|months) (?:left|for))\b",
    r"\b(?:budget|spend|afford|willing to pay|price limit)\b[^?]*\$ ?[0-9]|\$ ?[0-9][0-9.,]*k?[^?]*\b(?:budget|limit|maximum|to spend|cap|tops|in total)\b|\b(?:we|i) (?:only |just )?have (?:only |about |around )?(?:a budget of )?\$ ?[0-9]",
    r"\b(?:by|no later than|not later than|due(?: on| by)?|not before|no earlier than) (?:the |this |next )?(?:end of (?:the |this )?(?:day|week|month|quarter|year|sprint)|eod|eow|tomorrow|tonight|noon|midnight|week|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2} (?:january|february|march|april|may|june|july|august|september|october|november|december)|(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.? [0-9]{1,2}|[0-9]{1,2}(?::[0-9]{2})? ?(?:am|pm|a\.m|p\.m)|[0-9]{1,2}(?:st|nd|rd|th)|[0-9]{1,2}:[0-9]{2}|q[1-4])\b|\bdeadline (?:is|:|for|of)",
    r"\b(?:must|should|needs?|has to|have to|want|prefer|please|keep|wait|hold|freeze|finish|finished|ready|done|complete|ship|deploy|release|deliver|only|not|don'?t|never|merge|touch|push|start|launch)\b[^?]{0,60}\b(?:until|till|before) (?:the |this |next )?(?:end of (?:the |this )?(?:day|week|month|quarter|year|sprint)|eod|eow|tomorrow|tonight|noon|midnight|week|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2} (?:january|february|march|april|may|june|july|august|september|october|november|december)|(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.? [0-9]{1,2}|[0-9]{1,2}(?::[0-9]{2})? ?(?:am|pm|a\.m|p\.m)|[0-9]{1,2}(?:st|nd|rd|th)|[0-9]{1,2}:[0-9]{2}|q[1-4])\b",
    r"@(?:call me|address me|refer to (?:me|it|this|them) as|treat [a-z ]{2,40} as|pretend)\b",
    r"^(?:(?:in|for|on|at) (?:this|the|our|my) [a-z ]{2,30}[a-z],? )?(?:we|this project|the project|our (?:team|project|codebase|company)|this (?:repo|codebase|repository)|the (?:repo|codebase)) (?:only |always |never |all )?(?:use|uses|follow|follows|target|targets|support|supports|require|requires|prefer|prefers|deploy on|write) [^?]{2,60}$",
    // Corrections.
    r"^(?:forget (?:what i said|about|the rule|my)|scratch that|on second thought|i(?:'ve)? changed my mind|disregard|ignore (?:what i said|my earlier|my previous|the rule))\b",
];
