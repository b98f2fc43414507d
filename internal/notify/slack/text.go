package slack

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Escape makes a text part of a message as it is written: it mentions nobody and makes no link. Characters that are
// not seen go, as they would hide or turn what follows.
func Escape(text string) string {
	return escaper.Replace(strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text))
}

// Line is Escape of a text in one line, cut to most characters first.
func Line(text string, most int) string {
	return Escape(errs.ClipChars(strings.Join(strings.Fields(text), " "), most))
}

// Clip cuts a text that is escaped already to most characters, and never in the middle of an escape.
func Clip(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	cut := string(r[:most-1])
	if at := strings.LastIndexAny(cut, "&<"); at >= 0 && !strings.ContainsAny(cut[at:], ";>") && len(cut)-at < 300 {
		cut = cut[:at]
	}
	return cut + "…"
}

var (
	markup    = regexp.MustCompile(`<([^<>]*)>`)
	unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// Plain is what a person typed, of a message's markup: links without their labels, unless Slack made the link of what
// was typed, and without mentions of bot.
func Plain(text, bot string) string {
	text = markup.ReplaceAllStringFunc(text, func(found string) string {
		inner, label, labelled := strings.Cut(found[1:len(found)-1], "|")
		switch {
		case inner == "@"+bot:
			return " "
		case strings.HasPrefix(inner, "@") || strings.HasPrefix(inner, "#"):
			if labelled && label != "" {
				return inner[:1] + label
			}
			return inner
		case strings.HasPrefix(inner, "!"):
			return "@" + strings.TrimPrefix(inner, "!")
		case labelled && (inner == "http://"+label || inner == "https://"+label || inner == "mailto:"+label):
			return label
		}
		return inner
	})
	return strings.TrimSpace(unescaper.Replace(text))
}
