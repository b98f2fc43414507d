package sitemap

import (
	"regexp"
	"strings"
)

// Scripts put addresses together: a constant with the beginning of all (const api = '/api/v2'), a function that adds
// it and calls fetch, an identifier at the end. inline writes such calls as if they were of fetch with whole
// addresses, so that scriptRequests reads them: constants are put in, functions around fetch become fetch, "/x/" +
// id becomes "/x/1", and an object that was named before (body = {…}; JSON.stringify(body)) is put in its place.

var (
	constant = regexp.MustCompile("([A-Za-z_$][\\w$]*)\\s*[=:]\\s*[\"'`]((?:https?://[\\w.:-]{1,200})?/[\\w./-]{0,200})[\"'`]")
	// around is the beginning of a function with an argument that may be an address.
	around = regexp.MustCompile(`(?:function\s+([A-Za-z_$][\w$]*)\s*\(\s*([A-Za-z_$][\w$]*)[^)]*\)\s*\{|` +
		`([A-Za-z_$][\w$]*)\s*[=:]\s*(?:async\s*)?(?:function\s*)?\(?\s*([A-Za-z_$][\w$]*)\s*[^)=;{}]{0,80}\)?\s*(?:=>|\{))`)
	sends  = regexp.MustCompile("\\bfetch\\(\\s*(?:[\"'`]([^\"'`$]*)(?:[\"'`]\\s*\\+\\s*|\\$\\{))?([A-Za-z_$][\\w$]*)\\b")
	ending = regexp.MustCompile(`("[^"\s]*[/=]"|'[^'\s]*[/=]')\s*\+\s*(?:encodeURIComponent\()?[A-Za-z_$][\w$.]*\)?` +
		`(\s*\+\s*(?:"[^"\s]*"|'[^'\s]*'))?`)
	named = regexp.MustCompile(`JSON\.stringify\(\s*([A-Za-z_$][\w$]*)\s*\)`)
)

const (
	maxConstants = 40
	maxInline    = 512 << 10 // bytes of a script
	maxFunctions = 2000
	maxWrappers  = 20
	maxNamed     = 30  // objects that are put in place of their names
	bodyLength   = 600 // bytes of a function in which its fetch is looked for
)

// inline is a script with the calls that it puts together written out.
func inline(text string) string {
	if len(text) > maxInline || !strings.Contains(text, "fetch") && !strings.Contains(text, ".open(") {
		return text
	}
	text = withConstants(text)
	done := map[string]bool{}
	for range maxWrappers {
		next, ok := unwrapped(text, done)
		if !ok {
			break
		}
		text = next
	}
	text = ending.ReplaceAllStringFunc(text, func(s string) string {
		m := ending.FindStringSubmatch(s)
		rest := strings.Trim(strings.TrimLeft(m[2], " \t\r\n+"), `"'`)
		return m[1][:len(m[1])-1] + "1" + rest + m[1][:1]
	})
	n := 0
	return named.ReplaceAllStringFunc(text, func(s string) string {
		if n++; n > maxNamed {
			return s
		}
		set := regexp.MustCompile(`(?:^|[^\w$.])` + regexp.QuoteMeta(named.FindStringSubmatch(s)[1]) + `\s*=\s*\{`)
		at := set.FindStringIndex(text)
		if at == nil {
			return s
		}
		return "JSON.stringify({" + endOfCall(text[at[1]:min(len(text), at[1]+callLength)]) + "})"
	})
}

// withConstants has the beginnings of addresses where their names stand before a string or an argument.
func withConstants(text string) string {
	for _, m := range constant.FindAllStringSubmatch(text, maxConstants) {
		name, value := m[1], strings.ReplaceAll(strings.TrimSuffix(m[2], "/"), "$", "$$")
		if strings.Count(text, name)*len(value) > maxInline { // a script that is made to grow
			continue
		}
		if strings.Contains(text, name+"+") || strings.Contains(text, name+" +") {
			before := regexp.MustCompile(`(^|[^\w$.])` + regexp.QuoteMeta(name) + "\\s*\\+\\s*([\"'`])/?")
			text = before.ReplaceAllString(text, "${1}${2}"+value+"/")
			beside := regexp.MustCompile(`(^|[^\w$.])` + regexp.QuoteMeta(name) + `(\s*\+\s*[A-Za-z_$])`)
			text = beside.ReplaceAllString(text, "${1}'"+value+"'${2}")
		}
		text = strings.ReplaceAll(text, "${"+name+"}", strings.TrimSuffix(m[2], "/"))
		if len(text) > 2*maxInline { // constants within constants
			break
		}
	}
	return text
}

// unwrapped has the calls of one function around fetch that is not done yet as calls of fetch; false when there is
// none.
func unwrapped(text string, done map[string]bool) (string, bool) {
	for _, at := range around.FindAllStringSubmatchIndex(text, maxFunctions) {
		group := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return text[at[2*n]:at[2*n+1]]
		}
		name, argument := group(1)+group(3), group(2)+group(4)
		body := text[at[1]:min(len(text), at[1]+bodyLength)]
		m := sends.FindStringSubmatchIndex(body)
		if m == nil || body[m[4]:m[5]] != argument || name == "fetch" || done[name] {
			continue
		}
		base, kind := "", ""
		if m[2] >= 0 {
			base = body[m[2]:m[3]]
		}
		if isJSON.MatchString(body) {
			kind = `"application/json",`
		}
		done[name] = true
		calls := regexp.MustCompile(`(^|[^\w$])` + regexp.QuoteMeta(name) +
			"\\(\\s*([\"'`])([^\"'`\\s]+)[\"'`](?:\\s*,\\s*[\"'`](GET|POST|PUT|PATCH|DELETE)[\"'`])?")
		return calls.ReplaceAllStringFunc(text, func(s string) string {
			return asFetch(calls.FindStringSubmatch(s), base, kind)
		}), true
	}
	return text, false
}

// asFetch is a call of a function around fetch as one of fetch itself; base is what that puts before the address.
func asFetch(call []string, base, kind string) string {
	address := call[3]
	if base != "" {
		address = strings.TrimSuffix(base, "/") + "/" + strings.TrimPrefix(address, "/")
	}
	out := call[1] + "fetch(" + call[2] + address + call[2]
	if call[4] != "" {
		out += `,{method:"` + call[4] + `"},` + kind + `""`
	}
	return out
}
