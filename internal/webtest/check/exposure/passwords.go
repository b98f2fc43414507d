package exposure

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
)

// Members of objects with a password or its digest, and those that name a person.
var (
	passwordMember = regexp.MustCompile(`(?i)^(?:user_?)?(?:passw(?:or)?d|pwd|pass|hashed_?password|passw(?:or)?d_?(?:hash|digest|salt))$`)
	personMember   = regexp.MustCompile(`(?i)user|name|mail|login|handle|nick|^u?id$`)
	masked         = regexp.MustCompile(`^(?:[*•.x]+|null|none|hidden|redacted|\[.*\]|string)$`)
)

// passwords is the check for interfaces that answer the passwords of their users, or digests of them: objects of JSON
// with a member for a password beside one that names a person. What the request itself has sent does not count, nor do
// descriptions of interfaces. It sends nothing.
func passwords() kit.Check {
	c := kit.Check{ID: "password-exposure", Class: "secret-exposure", Title: "Passwords of users in an answer"}.Describe()
	c.Passive = func(w *kit.World, t *kit.Target) {
		r := t.Response
		if r == nil || r.Status != 200 || !strings.Contains(r.Type(), "json") || describes(r.Body) {
			return
		}
		var value any
		if json.Unmarshal(r.Body, &value) != nil {
			return
		}
		password := passwordIn(value, t.Request.Body, maxNested)
		if password == "" || !w.Once("password "+t.Request.URL.Host+t.Request.URL.Path) {
			return
		}
		report(w, &c, t, r, hide(kit.Around(r.Body, password)), "a password, or a digest of one, beside the name of its user",
			kit.Finding{Impact: "Whoever reads the answer logs in as the users that it names.",
				Remediation: "Answer only the members that the reader needs, by a list of what is sent; keep digests on the server."})
	}
	return c
}

// maxNested is how deep objects are looked at.
const maxNested = 6

// describes reports whether a body is a description of an interface, whose examples are nobody's.
func describes(body []byte) bool {
	for _, word := range []string{"\"openapi\"", "\"swagger\"", "\"__schema\"", "\"_postman_id\"", "\"$schema\""} {
		if bytes.Contains(body, []byte(word)) {
			return true
		}
	}
	return false
}

// passwordIn is the first password of a person in a value of JSON that is not in what was sent; "" for none.
func passwordIn(value any, sent []byte, depth int) string {
	if depth == 0 {
		return ""
	}
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if found := passwordIn(one, sent, depth-1); found != "" {
				return found
			}
		}
	case map[string]any:
		password, person := "", false
		for key, member := range v {
			text, isText := member.(string)
			switch {
			case isText && len(text) > 2 && passwordMember.MatchString(key) && !masked.MatchString(strings.ToLower(text)) &&
				!bytes.Contains(sent, []byte(text)):
				password = text
			case personMember.MatchString(key):
				person = true
			}
			if found := passwordIn(member, sent, depth-1); found != "" {
				return found
			}
		}
		if person {
			return password
		}
	}
	return ""
}
