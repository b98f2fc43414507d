package recorded

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The options of curl that change nothing about the request, without and with a value.
var (
	curlIgnored = strings.Fields(`-s -S -k -L -v -i -g -f -N -# --silent --show-error --insecure --location --verbose
		--include --compressed --globoff --fail --no-buffer --http1.0 --http1.1 --http2 --http3
		--path-as-is --ipv4 --ipv6 -4 -6 --tlsv1.2 --progress-bar --no-progress-meter`)
	curlIgnoredValues = strings.Fields(`-o -m -x -w -c --output --max-time --connect-timeout --proxy --write-out
		--cookie-jar
		--cacert --cert --key --resolve --retry --max-redirs --interface`)
	curlShort = map[string]string{"-X": "--request", "-H": "--header", "-d": "--data", "-u": "--user", "-b": "--cookie",
		"-A": "--user-agent", "-e": "--referer", "-I": "--head", "-G": "--get"}
)

// curl is a command on its way to a request.
type curl struct {
	method, at string
	headers    []Header
	data       []string
	head, get  bool
}

// parseCurl reads a curl command as shells read it.
func parseCurl(text string) (Request, error) {
	words, err := shellWords(text)
	if err != nil {
		return Request{}, err
	}
	var c curl
	for words = words[1:]; len(words) > 0; {
		var err error
		if words, err = c.option(words); err != nil {
			return Request{}, err
		}
	}
	return c.request()
}

// option takes an option, or the URL, off the words.
func (c *curl) option(words []string) ([]string, error) {
	name, value, inline := words[0], "", false
	words = words[1:]
	if !strings.HasPrefix(name, "-") || name == "-" {
		if c.at != "" {
			return nil, fmt.Errorf("curl has two URLs: %q and %q", errs.Clip(c.at, maxQuoted), errs.Clip(name, maxQuoted))
		}
		c.at = name
		return words, nil
	}
	if !strings.HasPrefix(name, "--") && len(name) > 2 {
		if !slices.Contains(curlIgnored, name[:2]) { // -XPOST
			name, value, inline = name[:2], name[2:], true
		} else { // -sSk
			return append([]string{"-" + name[2:]}, words...), nil
		}
	}
	if long, ok := curlShort[name]; ok {
		name = long
	}
	switch {
	case slices.Contains(curlIgnored, name):
		return words, nil
	case name == "--head":
		c.head = true
		return words, nil
	case name == "--get":
		c.get = true
		return words, nil
	}
	if !inline {
		if len(words) == 0 {
			return nil, fmt.Errorf("curl's %s has no value", errs.Clip(name, maxQuoted))
		}
		value, words = words[0], words[1:]
	}
	return words, c.set(name, value)
}

func (c *curl) set(name, value string) error {
	header := func(name, value string) { c.headers = append(c.headers, Header{Name: name, Value: value}) }
	switch name {
	case "--url":
		c.at = value
	case "--request":
		c.method = value
	case "--header":
		n, v, ok := strings.Cut(value, ":")
		if !ok {
			return fmt.Errorf("%q is not a header line", errs.Clip(value, maxQuoted))
		}
		header(strings.TrimSpace(n), strings.TrimSpace(v))
	case "--user-agent":
		header("User-Agent", value)
	case "--referer":
		header("Referer", value)
	case "--cookie":
		if !strings.Contains(value, "=") {
			return errors.New("curl's cookies are in a file: write them as name=value")
		}
		header("Cookie", value)
	case "--user":
		header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(value)))
	case "--json":
		header("Content-Type", "application/json")
		header("Accept", "application/json")
		c.data = append(c.data, value)
	case "--data", "--data-ascii", "--data-binary":
		if strings.HasPrefix(value, "@") {
			return errors.New("curl's data are in a file: write them into the command")
		}
		c.data = append(c.data, value)
	case "--data-raw":
		c.data = append(c.data, value)
	case "--data-urlencode":
		field, text, ok := strings.Cut(value, "=")
		if !ok {
			field, text = "", value
		}
		if field != "" {
			field += "="
		}
		c.data = append(c.data, field+url.QueryEscape(text))
	default:
		if slices.Contains(curlIgnoredValues, name) {
			return nil
		}
		return fmt.Errorf("curl's option %s is not known here: write the request as text instead", errs.Clip(name, maxQuoted))
	}
	return nil
}

func (c *curl) request() (Request, error) {
	if c.at != "" && !strings.Contains(c.at, "://") {
		c.at = "http://" + c.at
	}
	body, method := strings.Join(c.data, "&"), "GET"
	switch {
	case c.get && body != "":
		mark := "?"
		if strings.Contains(c.at, "?") {
			mark = "&"
		}
		c.at, body = c.at+mark+body, ""
	case c.head:
		method = "HEAD"
	case len(c.data) > 0:
		method = "POST"
		if !hasHeader(c.headers, "Content-Type") {
			c.headers = append(c.headers, Header{Name: "Content-Type", Value: "application/x-www-form-urlencoded"})
		}
	}
	if c.method != "" {
		method = c.method
	}
	if !isToken(method) {
		return Request{}, fmt.Errorf("%q is not a method", errs.Clip(method, maxQuoted))
	}
	return fromParts(method, c.at, c.headers, []byte(body))
}

// escapes are those of $'…' that stand for one other character.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '\\': '\\', '\'': '\'', '"': '"', 'a': 7, '0': 0}

// shellWords splits a command line as a POSIX shell does, without variables and substitutions.
func shellWords(text string) (words []string, err error) {
	var word strings.Builder
	in := false // a word, which may be empty
	end := func() {
		if in {
			words = append(words, word.String())
		}
		word.Reset()
		in = false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			end()
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
			if text[i] != '\n' {
				in = true
				word.WriteByte(text[i])
			}
		case c == '\'' || c == '"' || c == '$' && strings.HasPrefix(text[i:], "$'"):
			in = true
			n, err := quotedText(text[i:], &word)
			if err != nil {
				return nil, err
			}
			i += n - 1
		default:
			in = true
			word.WriteByte(c)
		}
	}
	end()
	return words, nil
}

// quotedText reads a quoted text at the beginning and returns its length with the quotes.
func quotedText(text string, into *strings.Builder) (int, error) {
	quote, i := text[0], 1
	if quote == '$' {
		i = 2
	}
	for ; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\'' && quote != '"' || c == '"' && quote == '"':
			return i + 1, nil
		case c != '\\' || quote == '\'' || i+1 == len(text):
			into.WriteByte(c)
		case quote == '"':
			i++
			if !strings.ContainsRune("\\\"$`\n", rune(text[i])) {
				into.WriteByte('\\')
			}
			if text[i] != '\n' {
				into.WriteByte(text[i])
			}
		default:
			i++
			plain, ok := escapes[text[i]]
			if !ok {
				return 0, fmt.Errorf("the escape \\%c in $'…' is not known here", text[i])
			}
			into.WriteByte(plain)
		}
	}
	return 0, errors.New("a quote is not closed")
}
