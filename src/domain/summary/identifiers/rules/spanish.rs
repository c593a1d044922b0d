//! Spanish rules.

use super::table::RuleTable;

pub const TABLE: RuleTable =
    RuleTable { fillers: FILLERS, idle: IDLE, rules: RULES, order: ORDER, noise: NOISE, polite: POLITE, words: WORDS };

const FILLERS: &str = "ok|si|vale|bien|bueno|gracias|hola|entonces|y|pero|tambien|ah|por favor|ademas|luego|ahora|otra cosa|por cierto|puedes|podrias|puede|podria|joder|mierda|cono|en realidad|no,";

const ORDER: &str = r"(?:^|[,;:] ?(?:y |pero |entonces |por favor )*|\b(?:y|pero|entonces|por favor) )";

const NOISE: &str = r"\b(?:puto|puta|putos|putas|maldito|maldita|jodido|jodida) ";

const POLITE: &str =
    r"^[^a-z]*(?:puedes|podrias|puede|podria)\b.*\b(?:siempre|nunca|a partir de ahora|de ahora en adelante)\b";

const WORDS: &[&str] = &[
    "el", "la", "los", "las", "es", "y", "no", "que", "un", "una", "por", "para", "con", "en", "se", "me", "lo", "del",
    "al", "de", "nunca", "siempre", "usa", "sin", "mi", "tu", "si", "mas", "antes", "esta", "este", "quiero", "debe",
    "responde", "solo", "ya", "prefiero", "hay", "tienes", "muy", "pero", "codigo", "como",
];

const IDLE: &[&str] = &[
    r"\b(?:no (?:idea|se|entiendo|recuerdo|veo|creo|funciona|funcionan|puedo|pasa|es|hay|esta|estan|tengo|sirve|encuentro|aparece|sale|sabia|importa))\b",
    r"\b(?:esto|eso|el|ella|test|tests|falla|fallan|es|esta|son|fue|ha|han|funciona) (?:nunca|siempre)\b|\b(?:nunca|siempre) (?:falla|fallan|funciona|funcionan|es|esta|da|ha|sale|pasa|devuelve)\b|\bcomo siempre\b|\bdesde siempre\b",
    r"\b(?:debe|deben) (?:haber|de|ser (?:por|que))\b|\bno te preocupes\b|\bsin (?:problema|problemas|embargo|duda|exito)\b",
];

const RULES: &[&str] = &[
    r"\b(?:a partir de ahora|de ahora en adelante|de aqui en adelante|en adelante|en el futuro|bajo ningun concepto|bajo ninguna circunstancia|en ningun caso|en todo momento|cada vez que|por regla general|hasta nuevo aviso)\b",
    r"@(?:nunca|siempre|jamas)\b [a-z]",
    r"^[a-z]+\b[^?]{0,40}\b(?:siempre|nunca|solo|solamente|unicamente|exclusivamente)\b",
    r"@(?:por favor )?no (?:me |lo |la |los |las |te |le |se )?[a-z]{2,}(?:es|as|en|an|e|a)(?:lo|la|los|las)?\b",
    r"\b(?:debe|deben|debes|debera|deberan|tiene que|tienen que|tienes que|hay que|ha de)\b [a-z]",
    r"\bno (?:se )?(?:debe|deben|debes|puede|pueden|puedes)\b",
    r"@(?:evita|evite|asegurate|asegurese|recuerda|recuerde|ten en cuenta|tenga en cuenta|ten cuidado|no olvides|no olvide|procura|cuida|fijate|deja de|deje de|para de|limitate|cinete|atente|apegate|prioriza|respeta|respete|sigue (?:el|la|las|los)|abstente|prefiere)\b",
    r"@(?:usa|use|utiliza|utilice|emplea|escribe|pon|llama|devuelve|guarda|toma)\b[^?]{1,80}(?:\ben (?:lugar|vez) de\b|,? (?:y )?no\b|\bantes que\b|\bmejor que\b)",
    r"^(?:usa|use|utiliza|utilice) (?:solo |siempre )?(?:el |la |los |las )?[a-z0-9+#.-]+(?: [a-z0-9]+)?[.!]*$|^(?:usa|utiliza) [^?]{1,60}\b(?:para|en) (?:todos|todas|todo|toda|cada)\b",
    r"@(?:responde|responda|contesta|conteste|escribe|escriba|habla|explica|comenta|redacta|resume)\b[^?]{0,40}\b(?:en (?:espanol|ingles|frances|aleman|castellano|japones|una frase|dos frases|pocas|menos de|[0-9]+)|brevemente|breve|de forma (?:breve|concisa)|educadamente)\b|^(?:en|solo en) (?:espanol|ingles)\b",
    r"@(?:manten|mantenga|mantenlo|mantenla|deja|deje|dejalo|dejala|conserva)\b[^?]{0,60}\b(?:corto|cortos|corta|cortas|breve|breves|simple|simples|sencillo|sencilla|limpio|estable|compatible|intacto|intacta|tal cual|como esta|como estan|en paz|por debajo|pequeno|pequenos|pequenas|legible|sin cambios|informado|al tanto|conciso|concisas|concisos)\b",
    r"@(?:se|sea) (?:[a-z]+ )?(?:breve|conciso|concisa|cuidadoso|cuidadosa|preciso|precisa|directo|directa|amable|honesto|educado)\b",
    r"\b(?:prefiero|preferimos|preferiria|odio|odiamos|detesto|no quiero|no queremos|no me gusta|no me gustan|no necesito|no necesitamos)\b|\b(?:quiero|queremos) (?:que (?:siempre|nunca|solo|todo|todas|todos|las|los|uses|respondas|escribas|mantengas)|solo|todo en|todas|siempre)\b|\bme gusta (?:que|cuando|el codigo|mas|lo)\b",
    r"^(?:nada de |sin |cero |ningun |ninguna |no mas )[a-z0-9][a-z0-9 '/-]{1,60}[.!]*$|, (?:y )?(?:nada de |sin |ningun |ninguna )[a-z][a-z '-]{1,40}[.!]*$",
    r"\bsin (?:nuevas?|nuevos?|anadir|agregar|modificar|tocar|cambiar|romper|usar|preguntar|dependencias?|instalar|comentarios?|emojis?)\b",
    r"^(?:muy )?(?:importante|atencion|ojo|nota|nb|regla|reglas|restriccion|restricciones|recordatorio|presupuesto|plazo|fecha limite|estilo|idioma|formato|condicion)(?: [0-9]+)? ?[:!-] *[a-z0-9$]",
    r"\b(?:como maximo|maximo|al menos|como minimo|minimo|no mas de|menos de|hasta) [0-9$][^?]{0,40}(?:[.!]|$)|\b[0-9][0-9., ]*[a-z$]* (?:como maximo|maximo|como minimo|minimo)[.!]*$",
    r"\bpresupuesto\b[^?]*[0-9$]|\b(?:tenemos|tengo) (?:solo |un presupuesto de )?[0-9$][0-9.]* ?(?:\$|euros?|dolares?)",
    r"\b(?:antes del?|para el|hasta el|a mas tardar(?: el)?|para|antes de) (?:proximo )?(?:lunes|martes|miercoles|jueves|viernes|sabado|domingo|manana|esta noche|mediodia|fin de|[0-9]{1,2} de (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)|[0-9]{4}-[0-9]{2}|las [0-9])",
    r"@(?:ejecuta|ejecute|corre|pregunta|preguntame|pregunte|verifica|comprueba|revisa|haz|haga|avisa|avisame|anade|agrega|documenta|prueba|confirma)\b[^?]{1,80}\b(?:antes de|despues de cada|tras cada|en cada|por cada|para cada|si (?:no|hay|tienes|algo|vas)|cada vez)\b",
    r"^(?:antes de|cuando|si|despues de cada|en caso de|cada vez que) [^?,]{2,70}, *(?:por favor |siempre |nunca |no )*[a-z]",
    r"\b(?:esta|estan|queda|quedan|es|son) (?:terminantemente |totalmente )?(?:prohibido|prohibida|prohibidos|prohibidas|obligatorio|obligatoria|obligatorios|obligatorias|permitido|permitida)\b|\bpuedes (?:usar|tocar|modificar|cambiar)? ?(?:solo|unicamente|libremente)\b|\bsolo (?:puedes|toca|toques|modifica|usa|cambia|en)\b|\bno hace falta\b|\bmejor (?:usa|utiliza|responde|pon)\b",
    r"^(?:olvida|olvidate de) (?:lo que|la regla)\b|^he cambiado de idea\b|^cambie de opinion\b",
];
