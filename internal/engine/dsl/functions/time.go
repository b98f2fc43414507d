package functions

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/pause"
)

const maxWait = 5 * time.Minute

var momentForms = []string{
	time.RFC3339,
	"2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05",
	"2006-01-02 15:04 Z07:00", "2006-01-02 15:04",
	"2006-01-02 Z07:00", "2006-01-02",
}

var fieldForm = regexp.MustCompile(`%[A-Za-z]`)

func timeFunctions() []Function {
	return []Function{
		{Name: "unix_time", Min: 0, Max: 1, Impure: true, Run: unixTime},
		atMost(maxShort, function("to_unix_time", 1, -1, toUnixTime)),
		atMost(maxShort, Function{Name: "date_time", Min: 1, Max: -1, Impure: true, Run: dateTime}),
		{Name: "wait_for", Min: 1, Max: 1, Impure: true, Waits: true, Run: waitFor},
	}
}

func unixTime(env *Env, args []any) (any, error) {
	var more int64
	if len(args) == 1 {
		n, err := wholeNumber(args[0])
		if err != nil {
			return nil, err
		}
		more = n
	}
	return float64(env.Host.now().Unix() + more), nil
}

// toUnixTime is an int64, as the language defines.
func toUnixTime(_ *Env, args []any) (any, error) {
	s := String(args[0])
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return int64(n), nil
	}
	forms := momentForms
	if len(args) > 1 {
		forms = []string{String(args[1])}
	}
	for _, form := range forms {
		if t, err := time.Parse(form, s); err == nil {
			return t.Unix(), nil
		}
	}
	return nil, fmt.Errorf("%s is not a time", Quote(s))
}

// dateTime formats a time, by default now, with fields such as %Y or a layout of package time.
func dateTime(env *Env, args []any) (any, error) {
	t := env.Host.now()
	if len(args) == 2 {
		seconds, err := wholeNumber(args[1])
		if err != nil {
			return nil, err
		}
		t = time.Unix(seconds, 0)
	}
	form := String(args[0])
	if !fieldForm.MatchString(form) {
		return t.Format(form), nil
	}
	var wrong error
	s := fieldForm.ReplaceAllStringFunc(form, func(field string) string {
		n := 0
		switch field[1] {
		case 'Y', 'y':
			n = t.Year()
		case 'M':
			n = int(t.Month())
		case 'D', 'd':
			n = t.Day()
		case 'H', 'h':
			n = t.Hour()
		case 'm':
			n = t.Minute()
		case 'S', 's':
			n = t.Second()
		default:
			wrong = fmt.Errorf("there is no field %s", field)
		}
		return fmt.Sprintf("%02d", n)
	})
	if wrong != nil {
		return nil, wrong
	}
	return s, nil
}

func waitFor(env *Env, args []any) (any, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(String(args[0])), 64)
	if err != nil || n < 0 || n > maxWait.Seconds() {
		return nil, fmt.Errorf("%s is no time to wait", Quote(args[0]))
	}
	if err := pause.For(env.context(), time.Duration(n)*time.Second); err != nil {
		return nil, err
	}
	return true, nil
}
