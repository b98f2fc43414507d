package kit

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Names of fields.
var (
	// TokenName matches those of tokens against forged requests.
	TokenName = regexp.MustCompile(`(?i)csrf|xsrf|token|nonce|authenticity|verification|__viewstate|formkey|sesskey|_wpnonce`)
	// UserName matches those that say who somebody is.
	UserName = regexp.MustCompile(`(?i)user|login|name|mail|account|handle|nick|member|customer|person|phone|uid|^id$|^u$`)
	// FormerName matches those of what a form replaces, such as the password until now.
	FormerName = regexp.MustCompile(`(?i)old|current|former|previous|existing`)
)

// forgottenWords stand in the addresses of pages for forgotten passwords, in several languages.
const forgottenWords = `forg[eo]t|reset|recover|resend|lost.?pass|vergessen|vergeten|oubli|olvid|esquec|dimentic|zapom[ei]?n|gl[oöe]mt|` +
	`unoht|elfelejt|recup[eé]r|unut|uitat`

// Forgotten matches an address that says by itself that it is for forgotten passwords.
var Forgotten = ForgottenOr("")

// ForgottenOr matches what Forgotten does, and a pattern of more words; "" for none.
func ForgottenOr(more string) *regexp.Regexp {
	if more != "" {
		more = "|" + more
	}
	return regexp.MustCompile("(?i)" + forgottenWords + more)
}

// MailAddress matches an address of e-mail in a text.
var MailAddress = regexp.MustCompile(`[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+`)

// UsualPasswords are well-known names with their passwords, few because accounts are locked after some.
func UsualPasswords() [][2]string {
	return [][2]string{{"admin", "admin"}, {"admin", "password"}, {"admin", "admin123"}, {"tomcat", "tomcat"},
		{"test", "test"}, {"guest", "guest"}, {"root", "root"}}
}

// Login is a request that logs in: with a name and one password.
type Login struct {
	Request        *message.Request
	Name, Password message.Place
}

var registersAt = regexp.MustCompile(`(?i)regist|sign.?up|create|reset|forgot|enrol|enlist|inscri|cadastr|/join|/(?:users?|accounts?|members?|customers?|people)/?$`)

// LoginOf is the login that a request is, by the types of the fields of its form or by their names; false if it is
// none.
func LoginOf(r *message.Request) (l Login, ok bool) {
	l.Request = r
	if user, password := r.Login[0], r.Login[1]; user != "" && password != "" && user != password {
		for _, p := range message.Places(r) {
			switch {
			case p.Component != message.Body || p.Key:
			case p.Name == user:
				l.Name = p
			case p.Name == password:
				l.Password = p
			}
		}
		if l.Name.Name != "" && l.Password.Name != "" {
			return l, r.Method == http.MethodPost && !registersAt.MatchString(r.URL.Path)
		}
		l = Login{Request: r}
	}
	passwords, names := 0, 0
	for _, p := range message.Places(r) {
		if p.Component != message.Query && p.Component != message.Body || p.Key {
			continue
		}
		switch {
		case client.IsSecret(p.Name):
			l.Password = p
			passwords++
		case UserName.MatchString(p.Name) && names == 0 && !TokenName.MatchString(p.Name):
			l.Name = p
			names++
		}
	}
	registers := registersAt.MatchString(r.URL.Path)
	return l, passwords == 1 && names == 1 && r.Method == http.MethodPost && !registers
}

// With is the login with a name and a password.
func (l *Login) With(name, password string) *message.Request {
	return l.Request.Put(l.Name, name).Put(l.Password, password)
}

// Sendable says whether a form of another site can send a request: its type is one of those of forms.
func Sendable(r *message.Request) bool {
	kind := r.Header.Get("Content-Type")
	return strings.HasPrefix(kind, "application/x-www-form-urlencoded") ||
		strings.HasPrefix(kind, "multipart/form-data") ||
		strings.HasPrefix(kind, "text/plain")
}

// AsLink is a form that is sent by POST as a link with its fields; nil for others.
func AsLink(r *message.Request) *message.Request {
	kind := r.Header.Get("Content-Type")
	if r.Method != http.MethodPost || !strings.HasPrefix(kind, "application/x-www-form-urlencoded") {
		return nil
	}
	out := r.Clone()
	out.Method, out.Body, out.Token = http.MethodGet, nil, nil
	out.Header.Del("Content-Type")
	if out.URL.RawQuery != "" {
		out.URL.RawQuery += "&"
	}
	out.URL.RawQuery += string(r.Body)
	return out
}

// markup is what a page does not show of itself.
var markup = regexp.MustCompile(`(?is)<(?:script|style)\b.*?</(?:script|style)\s*>|<[^>]*>`)

// Text is what a page shows, without its elements and their attributes; escaped letters stay so.
func Text(r *message.Response) string { return markup.ReplaceAllString(string(r.Body), " ") }

// SameText reports whether two answers show the same text, whatever tokens are in their forms.
func SameText(a, b *message.Response) bool {
	text := func(r *message.Response) string { return strings.Join(strings.Fields(Text(r)), " ") }
	return a.Status == b.Status && a.Header.Get("Location") == b.Header.Get("Location") && text(a) == text(b)
}
