package builtin

import (
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
)

var curlCommand = shape(`(?m)(?:^|[\s:` + "`" + `])curl\s+[^\n]*`)

// curl takes out a command line of curl: its request, headers, cookies and user. Its address stays.
func curl(text string, a *agent.Access) string {
	return curlCommand().ReplaceAllStringFunc(text, func(line string) string {
		before, arguments, _ := strings.Cut(line, "curl")
		words := shellWords(strings.TrimRight(arguments, "` \t"))
		r, headers, user, address := curlRequest(words)
		if !strings.Contains(address, "://") {
			return line
		}
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ":")
			if strings.EqualFold(name, "Content-Type") {
				r.Type = strings.TrimSpace(value)
				continue
			}
			addHeader(a, name, value)
		}
		if name, password, ok := strings.Cut(user, ":"); ok && len(a.Logins) < maxLogins {
			a.Logins = append(a.Logins, agent.Login{User: name, Password: password})
		}
		if r.Method != http.MethodGet {
			r.URL = address
			a.Requests = append(a.Requests, r)
		}
		return before + address + " "
	})
}

// curlRequest is what the arguments of curl say.
func curlRequest(words []string) (r agent.Request, headers []string, user, address string) {
	var data []string
	for i := 0; i < len(words); i++ { // options take the next word
		option, value := words[i], ""
		if name, with, ok := strings.Cut(option, "="); ok && strings.HasPrefix(option, "--") {
			option, value = name, with
		} else if i+1 < len(words) {
			value = words[i+1]
		}
		joined := option != words[i]
		switch option {
		case "-X", "--request":
			r.Method = strings.ToUpper(value)
		case "-H", "--header":
			headers = append(headers, value)
		case "-b", "--cookie":
			headers = append(headers, "Cookie: "+value)
		case "-u", "--user":
			user = value
		case "-A", "--user-agent":
			headers = append(headers, "User-Agent: "+value)
		case "-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json":
			data = append(data, value)
			if option == "--json" {
				r.Type = "application/json"
			}
		case "--url":
			address = value
		case "-o", "--output", "-m", "--max-time", "-x", "--proxy", "-e", "--referer":
		default:
			if strings.HasPrefix(option, "http://") || strings.HasPrefix(option, "https://") {
				address = words[i]
			}
			continue
		}
		if !joined {
			i++
		}
	}
	r.Body = strings.Join(data, "&")
	if len(data) > 0 && r.Type == "" {
		r.Type = "application/x-www-form-urlencoded"
	}
	switch {
	case r.Method != "":
	case len(data) > 0:
		r.Method = http.MethodPost
	default:
		r.Method = http.MethodGet
	}
	return r, headers, user, address
}

// shellWords are the words of a command line, with quotes and escapes as in a shell.
func shellWords(line string) (words []string) {
	var word strings.Builder
	inside, has := byte(0), false
	for i := 0; i < len(line); i++ { // an escape takes the next byte
		c := line[i]
		switch {
		case inside == 0 && (c == ' ' || c == '\t'):
			if has {
				words = append(words, word.String())
				word.Reset()
				has = false
			}
			continue
		case inside == 0 && (c == '\'' || c == '"'):
			inside = c
		case c == inside && inside != 0:
			inside = 0
		case c == '\\' && inside != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		default:
			word.WriteByte(c)
		}
		has = true
	}
	if has {
		words = append(words, word.String())
	}
	return words
}
