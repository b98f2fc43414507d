package builtin

import (
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
)

// Further ways in which instructions name users, keys and tokens.
var (
	// postfixLogin is "with admin/secret as credentials".
	postfixLogin = shape(
		`(?i)\b(?:with|using)\s+` + given + `\s*[:/]\s*` + given + `\s+(?:as|for)\s+(?:the\s+)?(?:credentials?|log[ -]?in|user(?:[ -]?name)?\s+and\s+password)\b`)
	// intoLogin is "log into http://store.example.com/ with admin/secret"; the address stays.
	intoLogin = shape(
		`(?i)\b(log(?:ging|ged)?[ -]?(?:in|on)?\s*(?:to|into|at)|sign(?:ing)?[ -]?in(?:\s+(?:to|at))?|authenticate\s+(?:to|at|against))\s+` +
			`(https?://[^\s"'<>]+|it|the\s+(?:site|application|app|web\s+(?:site|application)|target|portal))` +
			`(\s+(?:with|as|using)\s+(?:the\s+)?(?:credentials?\s*:?\s*)?([^\s:/"'<>,]+)\s*[:/]\s*([^\s/"'<>;,]+))`)
	// parenLogin is "alice (password secret)".
	parenLogin = shape(
		`(?i)([^\s"'(),;:]+)\s*\(\s*(?:with\s+)?(?:the\s+|its\s+|their\s+)?(?:pass(?:word|wd|phrase)?|pwd|pw)\b` + is + given + `\s*\)`)
	// listedLogins is "users: alice:secret, bob:secret2".
	listedLogins = shape(
		`(?i)\b(?:(?:test\s+|demo\s+)?(?:users?|accounts?|logins?|credentials?)(?:\s+(?:are|is))?)\s*:\s*((?:[^\s:/"',;]+[:/][^\s/"',;]+)(?:\s*(?:,|;|\band\b|\s)\s*[^\s:/"',;]+[:/][^\s/"',;]+)+)`)
	onePair = shape(`([^\s:/"',;]+)[:/]([^\s/"',;]+)`)

	oneTime = shape(
		`(?i)\b(?:and\s+|with\s+|its\s+|the\s+)*(?:TOTP|2FA|MFA|OTP|one[- ]time\s+(?:code|password)s?|authenticator)(?:\s+(?:secret|seed|key|code))*` + is + `["'` + "`" + `]?([A-Z2-7]{16,64}=*)\b["'` + "`" + `]?`)

	// keyInHeader is "API key abc in the header X-API-Key", and headerOfKey "header X-API-Key with the value abc".
	keyInHeader = shape(
		`(?i)\b(?:(?:use|with|send)\s+)?(?:the\s+|an?\s+|its\s+)*(?:api[ -]?|access[ -]?|secret[ -]?)?(?:key|token)\b` + is + given +
			`\s*[,(]?\s*(?:(?:which\s+is\s+|is\s+)?(?:sent|passed|given|expected)\s+)?(?:in|as|by|via|with|using)?\s*(?:the\s+|a\s+)?(?:HTTP\s+|request\s+)?header\s+(?:named\s+|called\s+)?["'` + "`" + `]?([A-Za-z][\w-]*)["'` + "`" + `]?\)?`)
	headerOfKey = shape(
		`(?i)\b(?:(?:add|set|send|use|include|pass|carry)\s+)?(?:the\s+|a\s+|an\s+)?(?:(?:HTTP\s+|request\s+)?header\s+["'` + "`" + `]?([A-Za-z]\w*(?:-\w+)+|Authorization)["'` + "`" + `]?|["'` + "`" + `]?([A-Za-z]\w*(?:-\w+)+|Authorization)["'` + "`" + `]?\s+header)\s+` +
			`(?:set\s+to|with(?:\s+the|\s+a)?(?:\s+value)?(?:\s+of)?|having|is|=|to|should\s+be|must\s+be)\s*((?:Bearer|Basic|Token)\s+)?` + given)

	clientID     = shape(`(?i)\b(?:with\s+|and\s+|the\s+|its\s+)*client[ _-]?id\b` + is + given)
	clientSecret = shape(`(?i)\b(?:with\s+|and\s+|the\s+|its\s+)*client[ _-]?secret\b` + is + given)
	tokenURL     = shape(`(?i)\b(?:with\s+|and\s+|at\s+|from\s+|the\s+|its\s+|OAuth\s*2?(?:\.0)?\s+)*token[ _-]?(?:url|endpoint|server)(?:\s+(?:is|at|under))*\s*[:=]?\s*["'<]?(https?://[^\s"'<>,)]+|/[^\s"'<>,)]+)[">']?`)
	oauthScope   = shape(`(?i)\b(?:with\s+|and\s+|the\s+)*scopes?` + is + `["'` + "`" + `]([^"'` + "`" + `\n]+)["'` + "`" + `]`)
	oauthWords   = shape(`(?i)\b(?:(?:log[ -]?in|authenticate|get\s+a\s+token)\s+)?(?:with|by|via|using)?\s*OAuth\s*2?(?:\.0)?(?:\s+(?:with|by|via|using))?(?:\s+(?:the\s+)?(?:client[ -]credentials?|password)(?:\s+(?:grant|flow))?)?`)
)

// furtherLogins takes out logins in further wordings.
func furtherLogins(text string, a *agent.Access) string {
	add := func(user, password, page string) bool {
		password = strings.TrimRight(password, ".,;)")
		if !credible(user) || !credible(password) || len(a.Logins) >= maxLogins || strings.Contains(user, "//") {
			return false
		}
		a.Logins = append(a.Logins, agent.Login{User: user, Password: password, Page: page})
		return true
	}
	whole := func(ok bool, match string) int {
		if ok {
			return len(match)
		}
		return -1
	}
	text = blankSome(text, listedLogins(), func(m []string) int {
		for _, pair := range onePair().FindAllStringSubmatch(m[1], maxLogins) {
			if !add(pair[1], pair[2], "") {
				return -1
			}
		}
		return len(m[0])
	})
	text = blankSome(text, parenLogin(), func(m []string) int { return whole(add(m[1], firstOf(m[2:7]), ""), m[0]) })
	text = blankSome(text, postfixLogin(), func(m []string) int {
		return whole(add(firstOf(m[1:6]), firstOf(m[6:11]), ""), m[0])
	})
	// The address stays where it is: what is around it is taken out.
	return intoLogin().ReplaceAllStringFunc(text, func(match string) string {
		m := intoLogin().FindStringSubmatch(match)
		if !add(m[4], m[5], "") {
			return match
		}
		before := strings.Index(match, m[2])
		kept := m[2]
		if !strings.HasPrefix(strings.ToLower(kept), "http") {
			kept = strings.Repeat(" ", len(kept))
		}
		return strings.Repeat(" ", before) + kept + strings.Repeat(" ", len(match)-before-len(m[2]))
	})
}

// keys takes out keys and tokens with the header that they are sent in, secrets of one-time codes, and OAuth 2.
func keys(text string, a *agent.Access) string {
	text = blankSome(text, keyInHeader(), func(m []string) int {
		value := firstOf(m[1:6])
		if !credible(value) || strings.EqualFold(value, "in") || len(value) < 4 {
			return -1
		}
		if strings.EqualFold(m[6], "authorization") && !strings.Contains(value, " ") {
			value = "Bearer " + value
		}
		addHeader(a, m[6], value)
		return len(m[0])
	})
	text = blankSome(text, headerOfKey(), func(m []string) int {
		value := m[3] + firstOf(m[4:9])
		name := m[1] + m[2]
		if !likelyHeader(name) || !credible(value) || policyHeader(name) {
			return -1
		}
		addHeader(a, name, value)
		return len(m[0])
	})
	return oauth(text, a)
}

// policyHeader reports whether a header is one that answers have, and that a check may be asked for.
func policyHeader(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "strict-") || strings.HasPrefix(name, "content-security") ||
		strings.HasPrefix(name, "access-control") || strings.HasPrefix(name, "x-frame") ||
		strings.HasPrefix(name, "x-content-type") || strings.HasPrefix(name, "referrer-") ||
		strings.HasPrefix(name, "permissions-") || strings.HasPrefix(name, "cache-") || strings.HasPrefix(name, "set-")
}

// oauth takes out how a token is got from a server of OAuth 2: its address and the client.
func oauth(text string, a *agent.Access) string {
	var o agent.OAuth
	from := tokenURL().FindStringSubmatch(text)
	id := clientID().FindStringSubmatch(text)
	if from == nil || id == nil {
		return text
	}
	o.TokenURL, o.ClientID = strings.TrimRight(from[1], ".;"), firstOf(id[1:6])
	for _, one := range []struct {
		shape *regexp.Regexp
		use   func(m []string)
	}{
		{tokenURL(), func([]string) {}}, {clientID(), func([]string) {}},
		{clientSecret(), func(m []string) { o.ClientSecret = firstOf(m[1:6]) }},
		{oauthScope(), func(m []string) { o.Scopes = strings.Fields(strings.ReplaceAll(m[1], ",", " ")) }},
		{oauthWords(), func([]string) {}},
	} {
		text = blankAll(text, one.shape, one.use)
	}
	a.OAuth = &o
	return text
}

// codes takes out the secrets of one-time codes: each belongs to a user, in their order.
func codes(text string, a *agent.Access) string {
	n := 0
	return blankSome(text, oneTime(), func(m []string) int {
		if n >= len(a.Logins) {
			return -1
		}
		a.Logins[n].TOTP = m[1]
		n++
		return len(m[0])
	})
}
