package client

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// May lists what a client sends although it does lasting harm or ends the session.
type May struct{ Logout, Password, Delete, Pay bool }

// Words of addresses, of names of parameters and of values that say what to do.
var (
	logoutWords = []string{"logout", "logoff", "signout", "signoff", "abmelden", "ausloggen", "déconnexion",
		"cerrarsesión"}
	loginWords  = []string{"login", "logon", "signin", "anmelden", "einloggen", "connexion", "iniciarsesión"}
	deleteWords = append([]string{"delete", "remove", "destroy", "erase", "drop", "purge", "wipe", "truncate", "uninstall",
		"del", "shutdown", "reboot", "unsubscribe", "deactivate", "revoke"}, removeInOthers...)
	// removeWords say that one object is deleted.
	removeWords = append([]string{"delete", "remove", "erase", "del", "trash", "discard"}, removeInOthers...)
	// removeInOthers are words for it in other languages.
	removeInOthers = []string{"löschen", "loeschen", "entfernen", "supprimer", "effacer", "eliminar", "borrar",
		"verwijderen", "excluir", "usuń", "usun"}
	payWords = []string{"pay", "checkout", "purchase", "buy", "payment", "transfer", "withdraw", "refund"}
	// resetWords do harm only when they are sent, not when the page of that name is read.
	resetWords = []string{"reset", "install", "setup", "restart", "clear", "flush", "empty", "restore", "migrate"}
	writeWords = []string{"create", "add", "save", "update", "edit", "register", "signup", "insert", "upload", "import",
		"publish", "post", "comment", "comments", "message", "messages", "guestbook", "sign", "store", "modify", "change",
		"subscribe", "invite", "approve", "new", "write", "reply", "feedback", "contact", "rename", "move", "copy", "apply",
		"enable", "disable", "order", "orders", "book", "submit_review", "review", "vote", "rate", "send", "settings",
		"profile", "set", "assign", "grant", "enroll", "generate"}
	readWords = []string{"search", "find", "filter", "lookup", "query", "login", "signin", "logon", "view", "show", "list",
		"check", "preview", "calculate", "convert", "ping", "test", "validate", "sort", "graphql", "autocomplete", "go",
		"select", "browse", "display", "report", "page", "load", "fetch", "get", "read"}
	// actionNames are parameters whose value says what to do.
	actionNames = []string{"action", "act", "do", "op", "operation", "cmd", "command", "task", "mode", "method", "func",
		"function", "event", "submit", "btn", "button", "_method", "ajax", "step"}
	// stateVerbs begin the values of those parameters that change something also when a link sends them. They have no page
	// of their own, as edit and new have.
	stateVerbs = []string{"trash", "untrash", "spam", "unspam", "approve", "unapprove", "activate", "publish", "unpublish",
		"enable", "disable", "toggle", "lock", "unlock", "ban", "unban", "mark", "unmark", "pin", "unpin", "vote",
		"rollback", "revert", "subscribe"}
	// visibilityWords change something in a link with a token; without one they are pages as well.
	visibilityWords = []string{"visibility", "sticky", "private"}
	// forgeryNames are parts of the names of tokens against forged requests. An application puts one into a link that
	// changes something; a parameter that is only called token may also say who asks.
	forgeryNames = []string{"nonce", "csrf", "xsrf", "sectok", "authenticity", "verificationtoken", "formkey", "form_key",
		"sesskey", "securitytoken"}
)

// pageValue is a value that may name a page: index.php?page=signout, ?r=site/logout.
var pageValue = regexp.MustCompile(`^[\w./:-]{5,40}$`)

// leadsBack are names of parameters whose path is where to go afterwards.
var leadsBack = regexp.MustCompile(`(?i)next|back|return|redir|ref|url|from|goto|dest|target|^to$`)

// words are the parts of a name, in lower case: of deleteUser, delete-user and delete_user they are delete and user.
func words(text string) (out []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	previous := rune(0)
	for _, c := range text {
		if !unicode.IsLetter(c) || unicode.IsUpper(c) && unicode.IsLower(previous) {
			end()
		}
		if unicode.IsLetter(c) {
			word = append(word, c)
		}
		previous = c
		if len(out) > 20 {
			return out
		}
	}
	end()
	return out
}

// says reports whether a name says one of the words: it is one of its few words, or of many the first or the last.
func says(text string, known []string) bool {
	w := words(text)
	for i, word := range w {
		pair := ""
		if i+1 < len(w) {
			pair = word + w[i+1]
		}
		if (len(w) <= 3 || i == 0 || i == len(w)-1) && slices.Contains(known, word) ||
			pair != "" && slices.Contains(known, pair) {
			return true
		}
	}
	return false
}

// maxLabel is how long the text of a link or a button is at most that says what it does.
const maxLabel = 60

// SaysLogout reports whether the text of a link or a button says that it ends the session, and SaysLogin whether it
// says that it leads to a login.
func SaysLogout(text string) bool { return len(text) <= maxLabel && says(text, logoutWords) }

// SaysLogin is described above.
func SaysLogin(text string) bool { return len(text) <= maxLabel && says(text, loginWords) }

// Ends notes that an address ends the session though it does not say so: from then on it is refused as those that do.
func (c *Client) Ends(u *url.URL) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends == nil {
		c.ends = map[string]bool{}
	}
	c.ends[u.Host+u.RequestURI()] = true
}

func (c *Client) isEnd(u *url.URL) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends[u.Host+u.RequestURI()]
}

// intent is what a request says that it does: its path, the names of its parameters, the values of those that choose.
type intent struct {
	reads     bool // GET or HEAD
	segments  []string
	names     []string
	actions   []string
	verbs     []string // the actions that a parameter for them names
	pages     []string // values of the query that may name a page, as for a front controller
	routes    []string // the last segments of those that are paths: of route=/themes/set it is set
	passwords int      // parameters with a new password
	files     bool
}

func intentOf(r *message.Request) intent {
	in := intent{reads: r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions}
	for _, p := range message.Places(r) {
		switch p.Component {
		case message.Path:
			in.segments = append(in.segments, p.Value)
		case message.Query, message.Body:
			in.names = append(in.names, p.Name)
			if p.Component == message.Query && pageValue.MatchString(p.Value) {
				in.pages = append(in.pages, p.Value)
				at := strings.LastIndexByte(p.Value, '/')
				if at >= 0 && !strings.ContainsAny(p.Value, ".:") && !leadsBack.MatchString(p.Name) {
					in.routes = append(in.routes, p.Value[at+1:])
				}
			}
			names := slices.Contains(actionNames, strings.ToLower(p.Name)) || r.IsMessage() && p.Name == "type"
			if names || p.Format == message.Plain {
				in.actions = append(in.actions, p.Value)
			}
			if names {
				in.verbs = append(in.verbs, strings.ToLower(p.Value))
			}
			if IsPassword(p.Name) {
				in.passwords++
			}
			in.files = in.files || p.File
		}
	}
	in.passwords = max(in.passwords, r.Passwords)
	return in
}

// IsPassword reports whether a field of this name has a password.
func IsPassword(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "passw") || strings.Contains(name, "pwd") || name == "pass" || name == "pw" ||
		strings.HasSuffix(name, "_pass") || strings.HasPrefix(name, "pass_") || strings.Contains(name, "passphrase") ||
		slices.ContainsFunc(passwordNames, func(known string) bool { return strings.Contains(name, known) })
}

// passwordNames are words for a password in other languages.
var passwordNames = []string{"passwort", "kennwort", "motdepasse", "mot_de_passe", "contrasena", "contraseña",
	"wachtwoord", "senha", "lozinka", "heslo", "haslo", "hasło", "salasana", "jelszo", "jelszó", "losenord",
	"lösenord", "passord", "adgangskode", "sifre", "şifre", "contrasenya"}

// secretNames are short words for a password, which are parts of other words.
var secretNames = []string{"secret", "passcode", "pin", "key", "credential", "clave", "mdp", "pwort"}

// IsSecret reports whether a field beside that of a user has their password, under whatever name.
func IsSecret(name string) bool {
	return IsPassword(name) || slices.Contains(secretNames, strings.ToLower(name))
}

// page reports whether a value of the query names a page that says one of the words.
func (in intent) page(known []string) bool {
	return slices.ContainsFunc(in.pages, func(s string) bool { return says(s, known) })
}

// any reports whether the request says one of the words anywhere; in the path only at its last two segments, in a path
// that a front controller is given at its last one.
func (in intent) any(known []string) bool {
	for _, texts := range [][]string{in.segments[max(0, len(in.segments)-2):], in.names, in.actions, in.routes} {
		if slices.ContainsFunc(texts, func(s string) bool { return says(s, known) }) {
			return true
		}
	}
	return false
}

// chosen is any without the path: what is sent, and not what is looked at.
func (in intent) chosen(known []string) bool {
	in.segments, in.routes = nil, nil
	return in.any(known)
}

// linkWrites reports whether a link changes something: it has a token against forged requests, or an action that does.
func (in intent) linkWrites() bool {
	token := false
	for _, name := range in.names {
		if isForgeryToken(name) {
			return true
		}
		token = token || strings.Contains(strings.ToLower(name), "token")
	}
	for _, verb := range in.verbs {
		if slices.ContainsFunc(stateVerbs, func(start string) bool { return strings.HasPrefix(verb, start) }) {
			return true
		}
	}
	return token && (in.any(stateVerbs) || in.any(writeWords) || in.any(visibilityWords))
}

// isForgeryToken reports whether a parameter of this name has a token against forged requests.
func isForgeryToken(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(forgeryNames, func(part string) bool { return strings.Contains(name, part) })
}

// IsFleeting reports whether a parameter of this name has another value each time: a token, or the time.
func IsFleeting(name string) bool {
	name = strings.ToLower(name)
	return isForgeryToken(name) || strings.Contains(name, "token") ||
		slices.Contains([]string{"_", "t", "ts", "time", "timestamp", "rand", "random", "hash", "sig", "signature"}, name)
}

// harm says why a request is not sent at this level; "" if it is.
func (c *Client) harm(r *message.Request) string {
	in := intentOf(r)
	switch {
	case !c.May.Logout && (in.any(logoutWords) || in.page(logoutWords) || c.isEnd(r.URL)):
		return "it would end the session"
	case !c.May.Delete && (r.Method == http.MethodDelete || in.any(deleteWords) ||
		!in.reads && in.any(resetWords)):
		return "it would delete or reset something"
	case !c.May.Password && (in.passwords > 1 || !in.reads && slices.ContainsFunc(in.segments, IsPassword)):
		return "it would change a password"
	case !c.May.Pay && !in.reads && in.any(payWords):
		return "it would pay or transfer something"
	case c.Level == Passive && !in.reads:
		return "level passive only looks"
	case c.Level < Active && (r.Method == http.MethodPut || r.Method == http.MethodPatch || in.reads && in.linkWrites()):
		return "it may change data, which level safe does not allow"
	case c.Level < Active && in.reads && c.makes(r):
		return "each time it is opened it makes something, which level safe does not allow"
	}
	return ""
}

// Writes reports whether a request looks as if it changed data: by its method, its path, its parameters, and the labels
// of the form that it comes from, such as the text of its button. A request that reads sends a query or logs in.
func Writes(r *message.Request, labels ...string) bool {
	in := intentOf(r)
	if in.reads {
		return in.chosen(strongWords) && len(in.names) > 1
	}
	if r.Method == http.MethodPut || r.Method == http.MethodPatch || r.Method == http.MethodDelete || in.passwords > 1 ||
		in.files {
		return true
	}
	in.actions = append(in.actions, labels...)
	if in.chosen(strongWords) {
		return true
	}
	if r.IsMessage() && in.any(spokenWords) {
		return true
	}
	names := in.names
	in.names = nil // a field with a message or an order is no word about what is done with it
	if in.any(readWords) {
		return false
	}
	if n := len(in.segments); n > 1 && wordsEnd(in.segments[n-2], "post") {
		in.segments = in.segments[n-1:] // a folder of what is sent with that method
	}
	return in.any(writeWords) || slices.Contains(labels, "textarea") || len(names) > 0 && isJSON(r) && in.collection()
}

// wordsEnd reports whether a name of several words ends with one.
func wordsEnd(name, last string) bool {
	w := words(name)
	return len(w) > 1 && w[len(w)-1] == last
}

// spokenWords are those of messages to WebSockets that other people are shown.
var spokenWords = []string{"chat", "message", "messages", "msg", "say", "talk", "room", "comment", "post", "reply",
	"send",
	"publish", "broadcast", "notify", "announce"}

// strongWords say that something is written wherever they stand.
var strongWords = writeWords[:6]

func isJSON(r *message.Request) bool { return strings.Contains(r.Header.Get("Content-Type"), "json") }

// collection reports whether the path ends with the name of a collection, such as /users or /books/v1, to which APIs
// add what is sent there.
func (in intent) collection() bool {
	for _, segment := range slices.Backward(in.segments) {
		if w := words(segment); len(w) == 1 && w[0] != "v" {
			return len(w[0]) > 3 && strings.HasSuffix(w[0], "s")
		}
	}
	return false
}

// Removes reports whether a request, with the text of its link or button, says that it deletes something.
func Removes(r *message.Request, label string) bool {
	in := intentOf(r)
	if len(label) <= maxLabel {
		in.actions = append(in.actions, label)
	}
	return r.Method == http.MethodDelete || in.any(removeWords)
}

// Reads reports whether a request, with the labels of its form, says that it only looks for something.
func Reads(r *message.Request, labels ...string) bool {
	in := intentOf(r)
	in.actions = append(in.actions, labels...)
	return in.reads || in.any(readWords[:18]) && !in.chosen(strongWords)
}
