package scan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

// value is the value of a flag. kind is its name in the help; "" is a switch.
type value struct {
	kind  string
	set   func(text string) error
	get   func() string
	among []string // the only values there are, if not nil
}

// Set implements pflag.Value.
func (v value) Set(text string) error { return v.set(text) }

// Type returns the kind.
func (v value) Type() string { return v.kind }

// String returns the value as text.
func (v value) String() string {
	if v.get == nil {
		return ""
	}
	return v.get()
}

func toggle(into *bool) value {
	return value{"", func(text string) (err error) {
		*into, err = strconv.ParseBool(text)
		return err
	}, func() string { return strconv.FormatBool(*into) }, nil}
}

func number(into *int, lowest int) value {
	return value{"n", func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("must be a whole number")
		}
		if n < lowest {
			return fmt.Errorf("must be at least %d", lowest)
		}
		*into = n
		return nil
	}, func() string { return strconv.Itoa(*into) }, nil}
}

// span is a duration above zero, such as 500ms or 1m; a number is seconds.
func span(into *time.Duration) value {
	return value{"time", func(text string) error {
		if _, err := strconv.Atoi(text); err == nil {
			text += "s"
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return errors.New("must be a time such as 500ms, 30s or 1m")
		}
		*into = d
		return nil
	}, func() string { return into.String() }, nil}
}

func text(into *string, kind string) value {
	return value{kind, func(text string) error {
		*into = text
		return nil
	}, func() string { return *into }, nil}
}

func oneOf(into *string, among ...string) value {
	return value{"word", func(text string) error {
		if text = strings.ToLower(text); !slices.Contains(among, text) {
			return errors.New("must be one of " + strings.Join(among, ", "))
		}
		*into = text
		return nil
	}, func() string { return *into }, among}
}

// texts is a list; each use of the flag adds one text.
func texts(into *[]string, kind string) value {
	return value{kind, func(text string) error {
		*into = append(*into, text)
		return nil
	}, func() string { return strings.Join(*into, " ") }, nil}
}

// words is a list; each use of the flag adds words separated by commas.
func words(into *[]string, kind string) value {
	return value{kind, func(text string) error {
		*into = append(*into, commas(text)...)
		return nil
	}, func() string { return strings.Join(*into, ",") }, nil}
}

// wordsOf is words, or the name of a file with one word a line.
func wordsOf(into *[]string) value {
	v := words(into, "words")
	v.set = func(text string) error {
		found, err := commasOrLines(text)
		*into = append(*into, found...)
		return err
	}
	return v
}

// chosen is words out of a few, separated by commas.
func chosen(into *[]string, among ...string) value {
	v := words(into, "words")
	v.among = among
	v.set = func(text string) error {
		for _, word := range commas(strings.ToLower(text)) {
			if !slices.Contains(among, word) {
				return fmt.Errorf("%q is none of %s", word, strings.Join(among, ", "))
			}
			*into = append(*into, word)
		}
		return nil
	}
	return v
}

func commas(text string) (found []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			found = append(found, word)
		}
	}
	return found
}

// commasOrLines are the lines of the file with this name, or else words.
func commasOrLines(text string) ([]string, error) {
	if cli.IsFile(text) {
		return cli.ReadLines(text)
	}
	return commas(text), nil
}
