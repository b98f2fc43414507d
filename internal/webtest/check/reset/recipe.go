package reset

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
)

const (
	maxNumbers = 10_000 // of users or messages, from 0
	maxSkew    = 3      // seconds between the clocks of the tester and of the application
	maxStep    = 20     // from one number that counts to the next
)

// recipe is how a token is made.
type recipe struct {
	about   string // "" for one that is not known
	isFixed bool   // it is the same each time
	write   func(string) string
}

// recipes are how tokens are made, by the token.
type recipes map[string]recipe

// add adds the writings of a text.
func (all recipes) add(about, text string, isFixed bool) {
	for _, way := range kit.Writings {
		write := func(s string) string { return strings.TrimRight(way.Write(s), "=") }
		if made := strings.ToLower(write(text)); text != "" && all[made].about == "" {
			all[made] = recipe{way.About + about, isFixed, write}
		}
	}
}

// numbers are those of users or messages.
var numbers = sync.OnceValue(func() recipes {
	all := recipes{}
	for n := range maxNumbers {
		all.add("a number", strconv.Itoa(n), false)
	}
	return all
})

// made is how all tokens of a user were made; nil when that is not seen.
func made(got []link) *recipe {
	first := got[0].recipe
	if first.about != "" && !slices.ContainsFunc(got, func(l link) bool { return l.recipe.about != first.about }) {
		return &first
	}
	last := 0
	for i, l := range got {
		n, err := strconv.Atoi(l.token.Value)
		if err != nil || i > 0 && (n <= last || n-last > maxStep) {
			return nil
		}
		last = n
	}
	return &recipe{about: "the last one and a little more", write: func(s string) string { return s }}
}

// recipes says how a token was made between two times.
func (a *asking) recipes(from, to time.Time) func(token string) recipe {
	known := recipes{}
	known.add("the name of the user", a.as.Name, true)
	known.add("the address of the user", a.mail, true)
	for s := from.Unix() - maxSkew; s <= to.Unix()+maxSkew; s++ {
		now := strconv.FormatInt(s, 10)
		known.add("the time", now, false)
		for _, who := range []string{a.as.Name, a.mail} {
			if who == "" {
				continue
			}
			for _, between := range []string{"", ":", "-", "_", "|", "."} {
				known.add("the user and the time", who+between+now, false)
				known.add("the time and the user", now+between+who, false)
			}
		}
	}
	return func(token string) recipe {
		token = strings.ToLower(strings.TrimRight(token, "="))
		if known[token].about != "" {
			return known[token]
		}
		return numbers()[token]
	}
}
