package builtin

import (
	"encoding/json"
	"encoding/xml"
	"net/url"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
)

// What instructions say of logins and requests. A value stands in quotes, or has no spaces. Patterns have no counts,
// which would make them slow: credible bounds the values.
const (
	given = `(?:"([^"\n]+)"|'([^'\n]+)'|` + "`([^`\\n]+)`" + `|“([^”\n]+)”|([^\s"'` + "`" + `“”,;]+))`
	// secretGiven is given, in which a comma may stand: not at the end.
	secretGiven = `(?:"([^"\n]+)"|'([^'\n]+)'|` + "`([^`\\n]+)`" + `|“([^”\n]+)”|((?:[,;]?[^\s"'` + "`" + `“”,;])+))`
	is          = `\s*(?:is|are|of|as|=|:|named|called)?\s*`
)

var (
	// namedLogin is "user admin with the password secret" and its like.
	namedLogin = shape(
		`(?i)\b(?:(?:log(?:ging|ged)?[ -]?(?:in|on)|sign(?:ing)?[ -]?in|authenticate[d]?|log[ -]?into\s+it)\s+)?(?:(?:as|with|using|by)\s+)?(?:the\s+)?(?:user(?:[ -]?name)?|login|account|e-?mail)\b` +
			is + given + `[\s,;/&]*(?:(?:and|with|using|its|the|their|a|by)\s+)*(?:pass(?:word|wd|phrase)?|pwd|pw)\b` + is + secretGiven,
	)
	// shortLogin is "log in as admin with secret", "log in with admin / secret".
	shortLogin = shape(
		`(?i)\b(?:log(?:ging|ged)?[ -]?(?:in|on)|sign(?:ing)?[ -]?in|authenticate[d]?)\s+(?:as|with|using)\s+(?:the\s+)?(?:user\s+|account\s+)?` +
			`(?:credentials?\s*:?\s*)?` + given + `\s*(?:/|,|\s+and\b|\s+with\b|\s+using\b)\s*(?:the\s+)?(?:pass(?:word|wd)?\b` + is + `)?` + given,
	)
	// pairLogin is "credentials admin:secret".
	pairLogin = shape(
		`(?i)\b(?:credentials?|log(?:ging|ged)?[ -]?(?:in|on)(?:\s+(?:with|as|using))|logins?|accounts?)(?:\s+(?:are|is))?\s*:?\s*["'` + "`" + `“]?([^\s:/"'` + "`" + `“,]+)\s*[:/]\s*([^\s/"'` + "`" + `”,;][^\s"'` + "`" + `”,;]*)["'` + "`" + `”]?`,
	)
	loginPage = shape(
		`(?i)\b(?:log[ -]?in|sign[ -]?in)\s+(?:page|form)?\s*(?:is\s+)?(?:at|on)\s+(https?://[^\s"'<>]+|/[^\s"'<>]*)`,
	)

	quotedHeader = shape(
		"(?i)(?:\\bheaders?|-H)\\s*(?:lines?)?\\s*[:=]?\\s*(?:\"([A-Za-z][\\w-]*)\\s*:\\s*([^\"\\n]+)\"|'([A-Za-z][\\w-]*)\\s*:\\s*([^'\\n]+)'|`([A-Za-z][\\w-]*)\\s*:\\s*([^`\\n]+)`)",
	)
	plainHeader = shape(`(?i)\b(?:(?:add|set|send|use|include|pass|carry)\s+(?:the\s+|an?\s+|this\s+)?(?:HTTP\s+|request\s+|following\s+|extra\s+)?)?(?:headers?|-H)\s*(?:lines?)?\s*[:=]?\s*([A-Za-z][\w-]*)\s*:\s*([^\n]+)`)
	// toAll is what may follow the value of a header in its sentence.
	toAll      = shape(`(?i)[,\s]+(?:to|in|with|on|for|and)\s+(?:all|every|each|any|the|your|then|test|check)\b.*$`)
	lineHeader = shape(`(?im)^\s*(Authorization|Cookie|X-[\w-]+|Api-?Key)\s*:\s*([^\n]+)$`)
	bearer     = shape(
		`(?i)\b(?:(?:bearer|access|auth|api|jwt|session)[ -]?)?(?:token|bearer|jwt)\b` + is + "[\"'`“]?(?:Bearer\\s+)?([A-Za-z0-9_.~+/=-]{16,})[\"'`”]?",
	)
	cookies = shape("(?i)\\b(?:(?:set|send|use)\\s+)?(?:(?:the|a|an|its|my|this)\\s+)*(?:session\\s+|auth(?:entication)?\\s+)?cookies?(?:\\s+header)?\\b(?:\\s+to)?" + is + "[\"'`“]?([\\w.-]+=[^\\s;,\"'`”]+(?:(?:;\\s*|,\\s*|\\s+and\\s+)[\\w.-]+=[^\\s;,\"'`”]+)*)")

	cookieJoin = shape(`\s*(?:;|,|\s+and\s)\s*`)

	postTo   = shape(`(?i)\b(POST|PUT|PATCH)\s+(?:requests?\s+)?(?:to\s+)?(https?://[^\s"'<>,]+)`)
	asMethod = shape(`(?i)\b(?:as|by|with|via|using)\s+(?:a\s+|an\s+|HTTP\s+)*(POST|PUT|PATCH)\b(?:\s+requests?)?`)
	formBody = shape(
		"(?i)\\b(?:(?:as|by|via|with|using)\\s+POST\\s*:|body|data|form\\s+data|form|fields?|parameters?)\\s*[:=]?\\s*[\"'`“]?([A-Za-z_][\\w.\\[\\]%-]*=[^\\s\"'`”]*(?:&[\\w.\\[\\]%-]+=[^\\s\"'`”]*)*)",
	)
	sends     = shape(`(?i)\b(?:body|payload|data|json|xml|posts?|sends?|submit)\b[^.{}]{0,40}$`)
	bodyWords = shape(`(?i)\b(?:(?:with|and)\s+)?(?:a\s+|an\s+|the\s+)?(?:(?:JSON|XML)(?:\s+(?:body|data|payload|object|document))?|(?:form|POST)\s+(?:body|data|payload)|POST\s+requests?)\b`)
	described = shape(
		`(?i)\b(?:(?:is\s+)?(?:described|documented|specified|defined)\s+(?:by|at|in|under)|(?:(?:import|load|read|use)\s+)?(?:(?:its|the|an?)\s+)?(?:(?:open ?api|swagger|wsdl|api|graphql|postman|har)\s*(?:v?[23](?:\.\d)*\s*)?(?:document(?:ation)?|spec(?:ification)?|description|definition|file|schema|collection|docs)|open ?api|swagger|wsdl|postman)(?:\s+(?:is|at|in|under|here|from|can|be|found|located|available|published|served|lives))*\s*:?)\s*[<("'` + "`" + `]?(https?://[^\s"'<>)` + "`" + `]+)`,
	)
)

// access takes what the instruction says of logins and requests out of the text, and blanks it, so that none of it is
// read as a choice of checks. Addresses stay: they are targets.
func (b *builder) access(text string) string {
	a := &b.plan.Access
	text = b.bodies(curl(text, a), a)
	text = blankAll(text, quotedHeader(), func(m []string) { addHeader(a, m[1]+m[3]+m[5], m[2]+m[4]+m[6]) })
	text = blankAll(text, lineHeader(), func(m []string) { addHeader(a, m[1], m[2]) })
	text = blankSome(text, plainHeader(), func(m []string) int {
		if !likelyHeader(m[1]) {
			return -1
		}
		value := sentenceEnd(m[2])
		addHeader(a, m[1], toAll().ReplaceAllString(value, ""))
		return len(m[0]) - len(m[2]) + len(value)
	})
	text = blankAll(text, cookies(), func(m []string) {
		addHeader(a, "Cookie", cookieJoin().ReplaceAllString(strings.TrimRight(m[1], "."), "; "))
	})
	text = blankAll(
		text,
		bearer(),
		func(m []string) { addHeader(a, "Authorization", "Bearer "+strings.TrimRight(m[1], ".")) },
	)
	text = keys(text, a)
	_, page := takeLoginPage(text)
	text = furtherLogins(text, a)
	for _, shape := range []*regexp.Regexp{namedLogin(), pairLogin(), shortLogin()} {
		text = blankSome(text, shape, func(m []string) int {
			user, password := m[1], strings.TrimRight(m[2], ".,;)")
			if len(m) > 3 {
				user, password = firstOf(m[1:6]), firstOf(m[6:11])
			}
			if !credible(user) || !credible(password) || len(a.Logins) >= maxLogins {
				return -1
			}
			a.Logins = append(a.Logins, agent.Login{User: user, Password: password, Page: page})
			return len(m[0])
		})
	}
	for i := range a.Logins {
		a.Logins[i].Page = page
	}
	if len(a.Logins) > 0 { // otherwise the login is what is asked about
		text, _ = takeLoginPage(text)
	}
	text = codes(text, a)
	return blankSome(text, described(), func(m []string) int {
		document := strings.TrimRight(m[1], ".,;)")
		a.Documents = append(a.Documents, document)
		if u, err := url.Parse(document); err == nil && strings.Count(text, u.Host) > 1 {
			return len(m[0]) // the application is named besides
		}
		return strings.Index(m[0], m[1])
	})
}

// takeLoginPage takes out where to log in. The address stays where it is the only one.
func takeLoginPage(text string) (rest, page string) {
	rest = blankSome(text, loginPage(), func(m []string) int {
		if page == "" {
			page = strings.TrimRight(m[1], ".,;)")
		}
		if u, err := url.Parse(page); err == nil && (u.Host == "" || strings.Count(text, u.Host) > 1) {
			return strings.LastIndex(m[0], m[1]) + len(page)
		}
		return strings.LastIndex(m[0], m[1])
	})
	return rest, page
}

// maxLogins bounds the users of an instruction, maxValue the bytes of a name or a password.
const maxLogins, maxValue = 5, 300

// addHeader takes a header line; cookies are kept apart.
func addHeader(a *agent.Access, name, value string) {
	value = strings.TrimSpace(value)
	if name == "" || value == "" || len(a.Headers) > 20 {
		return
	}
	if strings.EqualFold(name, "Cookie") {
		a.Cookies = strings.TrimPrefix(a.Cookies+"; "+value, "; ")
		return
	}
	a.Headers = append(a.Headers, agent.HeaderLine{Name: name, Value: value})
}

// likelyHeader reports whether a word before a colon is the name of a header, and not of a list of checks.
func likelyHeader(name string) bool {
	return strings.ContainsRune(name, '-') || strings.EqualFold(name, "cookie") || strings.EqualFold(name,
		"authorization") ||
		strings.EqualFold(name, "referer") ||
		strings.EqualFold(name, "origin") ||
		strings.EqualFold(name, "token")
}

// sentenceEnd cuts a value where the next sentence begins.
func sentenceEnd(value string) string {
	for i := 0; i+1 < len(value); i++ {
		if value[i] == '.' && value[i+1] == ' ' {
			return value[:i]
		}
	}
	return strings.TrimRight(value, ". ")
}

// credible reports whether a text may be a user or a password, and is no word of the sentence.
func credible(text string) bool {
	if len(text) > maxValue {
		return false
	}
	switch strings.ToLower(text) {
	case "",
		"and",
		"with",
		"the",
		"is",
		"page",
		"form",
		"to",
		"for",
		"in",
		"a",
		"an",
		"of",
		"enumeration",
		"panel",
		"panels",
		"fields",
		"field",
		"reset",
		"resets",
		"policy",
		"spraying",
		"guessing",
		"or",
		"that",
		"are",
		"at",
		"on",
		"as":
		return false
	}
	return true
}

// firstOf is the first text that is not empty; one that stands without quotes loses the end of its sentence.
func firstOf(texts []string) string {
	for i, text := range texts {
		if text != "" {
			if i == len(texts)-1 {
				text = strings.TrimRight(text, ".,;:)")
			}
			return text
		}
	}
	return ""
}

// bodies takes out bodies and the methods of requests.
func (b *builder) bodies(text string, a *agent.Access) string {
	body, kind := "", ""
	if at, end := jsonIn(text); end > 0 {
		body, kind = text[at:end], "application/json"
		text = text[:at] + strings.Repeat(" ", end-at) + text[end:]
	}
	method := ""
	if m := formBody().FindStringSubmatch(text); body == "" && m != nil && asMethod().MatchString(m[0]) {
		method, body, kind = "POST", strings.TrimRight(m[1], ".,;)"), "application/x-www-form-urlencoded"
		text = blankAll(text, formBody(), func([]string) {})
	}
	blank := asMethod()
	text = blankAll(text, blank, func(m []string) { method = strings.ToUpper(m[1]) })
	address := ""
	if m := postTo().FindStringSubmatch(text); m != nil {
		method, address = strings.ToUpper(m[1]), strings.TrimRight(m[2], ".;)")
		at := postTo().FindStringSubmatchIndex(text)
		text = text[:at[2]] + strings.Repeat(" ", at[4]-at[2]) + text[at[4]:]
	}
	if at, end := xmlIn(text); body == "" && end > 0 {
		body, kind = text[at:end], "application/xml"
		text = text[:at] + strings.Repeat(" ", end-at) + text[end:]
	}
	if body == "" {
		text = blankAll(text, formBody(), func(m []string) {
			if body == "" {
				body, kind = strings.TrimRight(m[1], ".,;)"), "application/x-www-form-urlencoded"
			}
		})
	}
	if body != "" {
		text = blankAll(text, bodyWords(), func([]string) {})
	}
	if method == "" && body != "" {
		method = "POST"
	}
	if method != "" {
		a.Requests = append(a.Requests, agent.Request{Method: method, URL: address, Type: kind, Body: body})
	}
	return text
}

// jsonIn is where the first object of JSON that is said to be sent stands in a text; end is 0 if there is none.
func jsonIn(text string) (at, end int) {
	for at = 0; at < len(text); at++ { //nolint:intrange // the body moves it
		if text[at] != '{' || !sends().MatchString(text[max(0, at-80):at]) {
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(text[at:]))
		var value map[string]any
		if decoder.Decode(&value) == nil && len(value) > 0 {
			return at, at + int(decoder.InputOffset())
		}
	}
	return 0, 0
}

// xmlIn is where the first document of XML that is said to be sent stands in a text; end is 0 if there is none.
func xmlIn(text string) (at, end int) {
	for at = 0; at < len(text); at++ { //nolint:intrange // the body moves it
		if text[at] != '<' || at > 0 && text[at-1] != ' ' && text[at-1] != '\n' && text[at-1] != ':' ||
			!sends().MatchString(text[max(0, at-80):at]) {
			continue
		}
		decoder := xml.NewDecoder(strings.NewReader(text[at:]))
		decoder.Strict = true
		for depth := 0; ; {
			token, err := decoder.Token()
			if err != nil {
				break
			}
			switch token.(type) {
			case xml.StartElement:
				depth++
			case xml.EndElement:
				if depth--; depth == 0 {
					return at, at + int(decoder.InputOffset())
				}
			}
		}
	}
	return 0, 0
}

// blankSome is blankAll of as many bytes of each match as use returns; with -1 the match stays.
func blankSome(text string, shape *regexp.Regexp, use func(m []string) int) string {
	return shape.ReplaceAllStringFunc(text, func(match string) string {
		n := use(shape.FindStringSubmatch(match))
		if n < 0 {
			return match
		}
		return strings.Repeat(" ", n) + match[n:]
	})
}
