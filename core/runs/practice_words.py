"""The words that the practice rules know, in Spanish, English and Portuguese."""

import re


def _any(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


ATTEMPT = _any(
    r"\b(ignor\w+|olvid\w+|disregard|forget|esque[cç]\w+)\b.{0,40}"
    r"\b(instruc\w+|rules?|reglas?|regras?|previous|anterior\w*|prompt)",
    r"\b(run_shell|send_telegram|send_file|read_file|set_identity|system prompt|api[_ ]?key|sudo|rm -rf)\b",
    r"\b(you are|eres|sos|voc[eê] [eé]) (now|ahora|agora)\b.{0,30}"
    r"\b(admin|root|system|assistant|asistente|modo|mode)\b",
    r"\b(send|give|tell|forward|p[aá]s[ae]\w*|m[aá]nd[ae]\w*|env[ií]a\w*|dame|dime|dec[ií]me|da|reenv\w+)\b.{0,25}"
    r"\b(the|me|el|los|la|las|o|a|that|ese|tu|your|his|su)\b.{0,12}"
    r"\b(code|codes|c[oó]digos?|password|contrase[nñ]a|senha|token|pin)\b",
    r"[<‹]\|\w+\|[>›]|[\[‹]/?INST[\]›]|<</?SYS>>|‹/?SYS›",
)
NOTICE = _any(
    r"\b(c[oó]digo|code|otp|pin|token|clave)\b[^.\n]{0,40}\b\d{3}[ -]?\d{1,5}\b",
    r"\b\d{4,8}\b[^.\n]{0,30}\b(is your|es tu|es su|[eé] (o )?seu)\b",
    r"\b(recibiste|received|recebeu|acreditad\w+|deposited|d[eé]bito|consumo (de|por)|compra (aprobada|por))\b",
    r"\bte (transfer[ií]|deposit[eé])(?!\w)|\bi (transferred|deposited)\b",
    r"\b(payment received|pago (recibido|aprobado|acreditado)|pagamento (recebido|aprovado))\b",
    r"\btransferencia (recibida|de|por)\b",
    r"\b(tu|your|seu|sua) (pedido|paquete|env[ií]o|order|package|parcel|entrega|delivery|encomenda)\b",
    r"\b(out for delivery|en camino a tu domicilio|saiu para entrega|was delivered|fue entregado|foi entregue)\b",
    r"\b(banco|bank|santander|bbva|galicia|visa|mastercard)\b.{0,60}(\$|\bUSD\b|R\$|€|\d)",
)
PASS_ON = _any(
    r"\b(dec[ií](le|les)|dile|d[ií]gale|av[ií]s[ae]le|p[aá]s[ae]le|cont[aá]le|cu[eé]ntale|record[aá]le|recu[eé]rdale)(?!\w)",
    r"\b(tell|let|remind|ask) (him|her|them)\b",
    r"\b(diga|avise|fala|fale|avisa|lembra) (a|para|pra|pro) (ele|ela)\b|\bavisa (ele|ela)\b",
)
MASS = _any(
    r"\b(promo\w*|ofertas?|descuentos?|descontos?|sale ends|newsletter|unsubscribe|black ?friday|cup[oó][nm])\b",
    r"\b\d{1,2} ?% ?(off|de descuento|de desconto|dto)\b",
    r"\b(no responder|no respondas|do not reply|no-?reply|n[aã]o responda)\b",
    r"\b(mensaje autom[aá]tico|automatic message|mensagem autom[aá]tica)\b",
    r"\b(reenviado muchas veces|forwarded many times|comparte este mensaje)\b",
)
MONEY = _any(
    r"\b(cu[aá]nto (sale|cuesta|vale|cobr\w+|es|me|te)|precio|presupuesto|how much|price|quote|cost|fee)\b",
    r"\b(quanto (custa|[eé]|fica|sai)|pre[cç]o|or[cç]amento)\b",
    r"\b(pag\w+|transfer\w*|prest\w+ (plata|dinero|dinheiro)|plata|dinero|dinheiro|money|pay|invoice)\b",
    r"\b(factura|fatura|deuda|owe|debo|debes|cbu|pix|iban)\b",
    r"[$€£]\s?\d|\b\d+ ?(usd|eur|ars|pesos|d[oó]lares|dollars|reais|euros)\b",
)
COMMITMENT = _any(
    r"\b(ma[nñ]ana|hoy|esta (tarde|noche|semana)|amanh[aã]|hoje)\b",
    r"\b(tomorrow|tonight|today|this (week|evening|afternoon))\b",
    r"\b(lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo|segunda|ter[cç]a|quarta|quinta|sexta)\b",
    r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    r"\b(a qu[eé] hora|qu[eé] d[ií]a|cu[aá]ndo|when|what (time|day)|que horas|quando|que dia)\b",
    r"\b(pod[eé]s|puedes|podr[ií]as|pueden|can you|could you|would you|are you free|pode|poderia|consegue)\b",
    r"\b(quedamos|nos vemos|reuni[oó]n|turno|cita|meeting|appointment|meet|reuni[aã]o|combinamos|confirm\w*)\b",
)

_HELLO = (
    r"(hola+|buen(as|os)?( (d[ií]as|tardes|noches))?|qu[eé] tal|c[oó]mo (est[aá]s|va|andas)|todo bien"
    r"|hello|hi+|hey|good (morning|afternoon|evening)|how are you|oi+|ol[aá]|bom dia|boa (tarde|noite)|tudo bem)"
)
GREETING = _any(rf"^\W*{_HELLO}(?!\w)([\s,.!¡¿?]*{_HELLO}(?!\w))*([\s,]+\w{{2,12}})?\W*$")
THANKS = _any(
    r"^\W*((muchas |mil )?gracias|thanks?( you)?( (so|very) much| a lot)?|(muito )?obrigad[oa]|valeu)\b.{0,25}$"
)
QUESTION = _any(r"[?]|\b(how much|cu[aá]nto|quanto|pod[eé]s|puedes|can you|pode)\b")
A_CODE = re.compile(r"\b\d{4,8}\b")

_TONGUES = {
    "es": _any(
        r"\b(hola|buen[oa]s|gracias|qu[eé]|c[oó]mo|est[aá]s?|cu[aá]nto|puedes|pod[eé]s|el|los|las|una?|para|con|tu|ma[nñ]ana)\b",
        r"\b(ronda|captura|qui[eé]n|eres|sos|tel[eé]fono|m[aá]nda\w*|decile|dile|y|del?|hay|mi|lo|se|es|por|te|me|cu[aá]ndo)\b",
        r"[¿¡ñ]",
    ),
    "en": _any(
        r"\b(hello|hi|hey|thanks?|the|you|your|what|how|can|are|is|please|my|for|with|tomorrow|and|send)\b",
        r"\b(who|it|of|to|good|tell|him|round|a|do|i|in|this|last)\b",
    ),
    "pt": _any(
        r"\b(oi|ol[aá]|obrigad[oa]|voc[eê]|quanto|pode|amanh[aã]|hoje|n[aã]o|tudo|bem|bom|boa|uma?|com)\b",
        r"\b(pra|pro|ele|ela|isso|seu|sua|que|[eé]|custa|avisa|fica|o)\b|[ãõç]",
    ),
}


def language(text: str, default: str = "es") -> str:
    """The language a short message seems to be in: es, en or pt."""
    counts = {lang: len(words.findall(text)) for lang, words in _TONGUES.items()}
    best = max(counts, key=lambda lang: counts[lang])
    return best if counts[best] > counts[default] else default
