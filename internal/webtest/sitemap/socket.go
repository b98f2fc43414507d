package sitemap

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// What scripts say to WebSockets, as far as their text shows it: the address is put together from the strings of the
// expression, and each message from those of the argument of send.
var (
	socketOf  = regexp.MustCompile(`(?:([\w$.]+)\s*=\s*)?new\s+(?:window\.)?(?:Reconnecting)?WebSocket\s*\(`)
	sendOf    = regexp.MustCompile(`([\w$.]+)\??\.send\s*\(`)
	socketly  = regexp.MustCompile(`(?i)^(?:ws|wss|socket|sock|conn|connection|channel|websocket)\d*$`)
	plainName = regexp.MustCompile(`^[\w$.]+$`)
	quoted    = regexp.MustCompile("\"((?:[^\"\\\\]|\\\\.)*)\"|'((?:[^'\\\\]|\\\\.)*)'|`((?:[^`\\\\]|\\\\.)*)`|[^\"'`]+")
	hasName   = regexp.MustCompile(`\w`)
	opens     = regexp.MustCompile(`(?i)auth|login|token|join|hello|connect|init|subscribe|session`)
)

// The bounds of one script.
const (
	maxSockets  = 20
	maxMessages = 50
	unknown     = "\x00" // what an expression does not show
)

// inDialogue puts the message that opens a dialogue before the others to the same WebSocket.
func inDialogue(r *message.Request, opening map[string]*message.Request) {
	if !r.IsMessage() || len(r.Body) == 0 {
		return
	}
	at := r.URL.String()
	if opening[at] != nil {
		r.After = opening[at]
	} else if opens.Match(r.Body) {
		opening[at] = r
	}
}

// socketMessages are the messages to WebSockets that the text of a script shows, and the handshakes of those to which
// it shows none.
func socketMessages(p *page, text string) (out []*Entry) {
	var sends []sent
	for _, m := range sendOf.FindAllStringSubmatchIndex(text, maxEndpoints) {
		to := lastName(text[m[2]:m[3]])
		sends = append(sends, sent{to, endOfCall(text[m[1]:min(len(text), m[1]+callLength)])})
	}
	for _, m := range socketOf.FindAllStringSubmatchIndex(text, maxSockets) {
		variable := ""
		if m[2] >= 0 {
			variable = lastName(text[m[2]:m[3]])
		}
		at := socketAddress(p, text, firstArgument(endOfCall(text[m[1]:min(len(text), m[1]+callLength)])))
		if at == nil {
			continue
		}
		opening := map[string]*message.Request{}
		add := func(body string) {
			r := message.NewMessage(at, body)
			inDialogue(r, opening)
			out = append(out, &Entry{Request: r, Writes: client.Writes(r)})
		}
		before := len(out)
		for _, s := range sends {
			if s.to != variable && !socketly.MatchString(s.to) || len(out) >= maxMessages {
				continue
			}
			if body := spoken(text, s.what); body != "" {
				add(body)
			}
		}
		if len(out) == before {
			add("")
		}
	}
	return out
}

// sent is one call of send: the name of the variable, and the expression.
type sent struct{ to, what string }

func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// firstArgument cuts the text at the first comma outside of brackets and strings.
func firstArgument(text string) string {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			switch c {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case c == '"', c == '\'', c == '`':
			quote = c
		case c == '(', c == '{', c == '[':
			depth++
		case c == ')', c == '}', c == ']':
			depth--
		case c == ',' && depth == 0:
			return text[:i]
		}
	}
	return text
}

// assigned is the expression that a script gives to a variable; "" if it shows none.
func assigned(text, variable string) string {
	m := regexp.MustCompile(`(?:^|[^\w$.])` + regexp.QuoteMeta(variable) + `\s*=\s*([^=;\n][^;\n]{0,500})`).
		FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}

// joined are the strings of an expression one behind the other, with unknown for all else; computed is whether more is
// done with them than that.
func joined(expression string) (text string, computed bool) {
	var b strings.Builder
	for _, m := range quoted.FindAllStringSubmatch(expression, 50) {
		switch {
		case strings.ContainsAny(m[0][:1], "\"'`"):
			b.WriteString(hole.ReplaceAllString(unescape.Replace(m[1]+m[2]+m[3]), unknown))
		case hasName.MatchString(m[0]):
			b.WriteString(unknown)
			computed = computed || strings.ContainsAny(m[0], "(?")
		}
	}
	return b.String(), computed
}

var unescape = strings.NewReplacer(`\"`, `"`, `\'`, `'`, "\\`", "`", `\/`, `/`, `\n`, "\n", `\\`, `\`)

// socketAddress is the address that an expression makes, on the host of the page where the text does not show another
// one; nil if it shows no path.
func socketAddress(p *page, text, expression string) *url.URL {
	expression = strings.TrimSpace(expression)
	for range 3 {
		if !plainName.MatchString(expression) {
			break
		}
		expression = strings.TrimSpace(assigned(text, expression))
	}
	shown, _ := joined(expression)
	host := ""
	if i := strings.LastIndex(shown, "://"); i >= 0 {
		shown = shown[i+len("://"):]
		host, _, _ = strings.Cut(shown, "/")
		shown = shown[len(host):]
	} else if i := strings.IndexByte(shown, '/'); i > 0 {
		shown = shown[i:]
	}
	if shown == "" && host != "" {
		shown = "/"
	}
	to := p.resolve(strings.ReplaceAll(shown, unknown, "1"))
	if to == nil || strings.Trim(shown, unknown) == "" {
		return nil
	}
	if h := (&url.URL{Host: host}).Hostname(); !strings.Contains(host, unknown) && h != "" && h != "localhost" &&
		h != "127.0.0.1" {
		to.Host = host
	}
	return to
}

// spoken is the message that the argument of send makes; "" if it is nothing that people or scripts would say.
func spoken(text, expression string) string {
	expression = strings.TrimSpace(expression)
	if plainName.MatchString(expression) {
		if value := assigned(text, expression); value != "" {
			expression = strings.TrimSpace(value)
		}
	}
	if rest, ok := strings.CutPrefix(expression, "JSON.stringify("); ok {
		argument := strings.TrimSpace(firstArgument(endOfCall(rest)))
		if plainName.MatchString(argument) {
			if value := objectOf(text, argument); value != "" {
				argument = value
			}
		}
		value := literalOf(argument, "message")
		body, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		return string(body)
	}
	if strings.HasPrefix(expression, "new ") { // a Blob, an array of bytes
		return ""
	}
	value := (&field{name: lastName(expression)}).fill()
	shown, computed := joined(expression)
	if computed {
		return value
	}
	return strings.ReplaceAll(shown, unknown, value)
}

// objectOf is the object that a script gives to a variable, on however many lines.
func objectOf(text, variable string) string {
	at := regexp.MustCompile(`(?:^|[^\w$.])` + regexp.QuoteMeta(variable) + `\s*=\s*\{`).FindStringIndex(text)
	if at == nil {
		return ""
	}
	return "{" + endOfCall(text[at[1]:min(len(text), at[1]+callLength)]) + "}"
}

// literalOf is the value of an expression of JavaScript: objects, arrays, strings, numbers and constants as they stand;
// of all else a value that fits the name that it has there.
func literalOf(expression, called string) any {
	expression = strings.TrimSpace(expression)
	inner := func() string { return expression[1 : len(expression)-1] }
	switch {
	case len(expression) > 1 && expression[0] == '{' && expression[len(expression)-1] == '}':
		object := map[string]any{}
		for rest := inner(); rest != "" && len(object) < maxMessages; {
			member := firstArgument(rest)
			rest = strings.TrimPrefix(rest[len(member):], ",")
			key, value, ok := strings.Cut(member, ":")
			key = strings.Trim(strings.TrimSpace(key), "\"'`[]")
			if !ok {
				value = key
			}
			if hasName.MatchString(key) && !strings.HasPrefix(key, "...") {
				object[key] = literalOf(value, key)
			}
		}
		return object
	case len(expression) > 1 && expression[0] == '[' && expression[len(expression)-1] == ']':
		list := []any{}
		for rest := inner(); strings.TrimSpace(rest) != "" && len(list) < maxMessages; {
			member := firstArgument(rest)
			rest = strings.TrimPrefix(rest[len(member):], ",")
			list = append(list, literalOf(member, called))
		}
		return list
	case expression == "true", expression == "false":
		return expression == "true"
	}
	if number, err := strconv.ParseFloat(expression, 64); err == nil {
		return number
	}
	if shown, computed := joined(expression); !computed && strings.Trim(shown, unknown) != "" {
		return strings.ReplaceAll(shown, unknown, "1")
	}
	return (&field{name: called}).fill()
}
