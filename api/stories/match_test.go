package stories

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/vedette-sec/vedette/internal/core/account/factor/factortest"
)

func itoa(n int) string { return strconv.Itoa(n) }

var placeholder = regexp.MustCompile(`\{(code |sent |(create|get) [a-z]+ )?[a-z][a-z0-9_.]*\}|\{in -?[0-9]+[a-z]+\}`)

// fill puts values in the place of {name}.
func (s *story) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := s.values[name[1:len(name)-1]]; ok {
			return value
		}
		if secret, ok := strings.CutPrefix(name, "{code "); ok {
			code, err := totp.GenerateCode(s.value(strings.TrimSuffix(secret, "}")), time.Now())
			if err != nil {
				s.t.Fatalf("%s: %v", name, err)
			}
			s.values["sent "+strings.TrimSuffix(secret, "}")] = code
			return code
		}
		if wait, ok := strings.CutPrefix(name, "{in "); ok {
			d, err := time.ParseDuration(strings.TrimSuffix(wait, "}"))
			if err != nil {
				s.t.Fatalf("%s: %v", name, err)
			}
			return time.Now().Add(d).UTC().Format(time.RFC3339Nano)
		}
		if verb, rest, ok := strings.Cut(name[1:len(name)-1], " "); ok {
			key, options, _ := strings.Cut(rest, " ")
			return s.keyAnswer(verb, key, s.value(options))
		}
		return name
	})
}

// keyAnswer is what a security key in a page of this server answers to options for navigator.credentials.
func (s *story) keyAnswer(verb, key, options string) string {
	if s.keys[key] == nil {
		s.keys[key] = factortest.New(s.t, s.publicURL)
	}
	if verb == "create" {
		return string(s.keys[key].Create([]byte(options)))
	}
	return string(s.keys[key].Get([]byte(options)))
}

func (s *story) value(name string) string {
	value, ok := s.values[name]
	if !ok {
		if name == "waiter" {
			return "alice"
		}
		s.t.Fatalf("there is no {%s}", name)
	}
	return value
}

// kinds are what <kind> in a wanted value stands for.
var kinds = map[string]func(any) bool{
	"any":    func(any) bool { return true },
	"string": func(v any) bool { s, ok := v.(string); return ok && s != "" },
	"uuid":   pattern(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
	"key":    pattern(`^svc_sk_[0-9A-Za-z]{32}$`),
	"time": func(v any) bool {
		s, ok := v.(string)
		_, err := time.Parse(time.RFC3339Nano, s)
		return ok && err == nil && strings.HasSuffix(s, "Z")
	},
	"int":    func(v any) bool { n, ok := v.(float64); return ok && n == float64(int64(n)) },
	"object": func(v any) bool { _, ok := v.(map[string]any); return ok },
	"array":  func(v any) bool { _, ok := v.([]any); return ok },
	"none":   func(v any) bool { return v == nil },
}

func pattern(p string) func(any) bool {
	re := regexp.MustCompile(p)
	return func(v any) bool { s, ok := v.(string); return ok && re.MatchString(s) }
}

var kindWord = regexp.MustCompile(`^<([a-z]+)(?: as ([a-z][a-z0-9_.]*))?>$`)

// match says how a value differs from what is wanted, or "". An object may have more
// keys than are wanted, except under "only"; <kind> takes any value of the kind, and
// <kind as name> keeps it as {name}; ~text is a pattern.
func (s *story) match(path string, want, have any) string {
	switch w := want.(type) {
	case string:
		if m := kindWord.FindStringSubmatch(w); m != nil {
			check, ok := kinds[m[1]]
			if !ok {
				return fmt.Sprintf("%s: there is no kind <%s>", path, m[1])
			}
			if !check(have) {
				return fmt.Sprintf("%s: %s is not a %s", path, compact(have), w)
			}
			if m[2] != "" {
				switch have.(type) {
				case float64:
					s.values[m[2]] = compact(have) // in digits, and not as 4e+09
				case map[string]any:
					text, _ := json.Marshal(have) // it was JSON
					s.values[m[2]] = string(text)
				default:
					s.values[m[2]] = fmt.Sprint(have)
				}
			}
			return ""
		}
		if p, ok := strings.CutPrefix(w, "~"); ok {
			if text, isText := have.(string); isText && regexp.MustCompile(`(?s)`+p).MatchString(text) {
				return ""
			}
			return fmt.Sprintf("%s: %s does not match %s", path, compact(have), p)
		}
	case map[string]any:
		return s.matchObject(path, w, have)
	case []any:
		list, ok := have.([]any)
		if !ok || len(list) != len(w) {
			return fmt.Sprintf("%s: %s, want a list of %d", path, compact(have), len(w))
		}
		for i := range w {
			if problem := s.match(fmt.Sprintf("%s[%d]", path, i), w[i], list[i]); problem != "" {
				return problem
			}
		}
		return ""
	}
	if want != have {
		return fmt.Sprintf("%s: %s, want %s", path, compact(have), compact(want))
	}
	return ""
}

func (s *story) matchObject(path string, want map[string]any, have any) string {
	object, ok := have.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: %s, want an object", path, compact(have))
	}
	for key, value := range want {
		if key == "only" {
			continue
		}
		got, there := object[key]
		if !there && value != "<none>" {
			return fmt.Sprintf("%s.%s is not there", path, key)
		}
		if problem := s.match(path+"."+key, value, got); problem != "" {
			return problem
		}
	}
	if want["only"] == true {
		for key := range object {
			if _, wanted := want[key]; !wanted {
				return fmt.Sprintf("%s.%s is there and should not be", path, key)
			}
		}
	}
	return ""
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil || len(text) > 300 {
		return fmt.Sprintf("%.300v", v)
	}
	return string(text)
}
