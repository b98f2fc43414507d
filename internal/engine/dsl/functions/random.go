package functions

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
)

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

	maxRandom = 1 << 20 // characters of one random text
)

func randomFunctions() []Function {
	return []Function{
		{Name: "rand_char", Min: 0, Max: 1, Impure: true, Run: func(env *Env, args []any) (any, error) {
			return randomText(env, charset(args, 0), 1)
		}},
		{Name: "rand_base", Min: 1, Max: 3, Impure: true, Run: func(env *Env, args []any) (any, error) {
			return randomText(env, charset(args, 1), args[0])
		}},
		randomOf("rand_text_alphanumeric", letters+digits),
		randomOf("rand_text_alpha", letters),
		randomOf("rand_text_numeric", digits),
		{Name: "rand_int", Min: 0, Max: 2, Impure: true, Run: randomInt},
		{Name: "rand_ip", Min: 1, Max: -1, Impure: true, Run: randomIP},
	}
}

// charset is the argument with the characters to use, by default letters and digits.
func charset(args []any, at int) string {
	if len(args) == at+1 {
		if s := String(args[at]); strings.TrimSpace(s) != "" {
			return s
		}
	}
	return letters + digits
}

// randomOf makes a function of a length and of characters to leave out.
func randomOf(name, chars string) Function {
	return Function{Name: name, Min: 1, Max: 2, Impure: true, Run: func(env *Env, args []any) (any, error) {
		if len(args) == 2 {
			return randomText(env, removeChars(chars, String(args[1])), args[0])
		}
		return randomText(env, chars, args[0])
	}}
}

func randomText(env *Env, chars string, length any) (any, error) {
	n, err := wholeNumber(length)
	switch {
	case err != nil:
		return nil, err
	case n < 0 || n > maxRandom:
		return nil, fmt.Errorf("a length of %d is out of range", n)
	case chars == "":
		return nil, errors.New("no character is left")
	}
	if len(chars) > maxShort {
		return nil, ErrTooLarge
	}
	from := []rune(chars)
	var b strings.Builder
	for range n {
		b.WriteRune(from[env.Host.intN(len(from))])
	}
	return b.String(), nil
}

// randomInt is an int from the first argument up to but not including the second.
func randomInt(env *Env, args []any) (any, error) {
	bounds := [2]int64{0, math.MaxInt32}
	for i, a := range args {
		n, err := wholeNumber(a)
		if err != nil {
			return nil, err
		}
		bounds[i] = n
	}
	width := bounds[1] - bounds[0]
	if width <= 0 {
		return nil, fmt.Errorf("there is no number from %d up to %d", bounds[0], bounds[1])
	}
	return int(bounds[0]) + env.Host.intN(int(width)), nil
}

func randomIP(env *Env, args []any) (any, error) {
	network, err := netip.ParsePrefix(String(args[env.Host.intN(len(args))]))
	if err != nil {
		return nil, err
	}
	ip := network.Addr().AsSlice()
	random := env.Host.bytes(len(ip))
	for i := range ip {
		fixed := min(max(network.Bits()-8*i, 0), 8)
		mask := byte(0xff) >> fixed
		ip[i] = ip[i]&^mask | random[i]&mask
	}
	addr, _ := netip.AddrFromSlice(ip) // of the length it came with
	return addr.String(), nil
}
