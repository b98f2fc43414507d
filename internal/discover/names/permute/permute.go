// Package permute makes names to try below a domain, from a word list and from names that were found.
package permute

import (
	"cmp"
	_ "embed"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// wordlist are common labels of hosts, in groups: a line that begins with "#" names the group.
//
//go:embed words.txt
var wordlist string

func wordsOf(group string) (list []string) {
	in := group == ""
	for line := range strings.Lines(wordlist) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "#"); is {
			in = group == "" || strings.TrimSpace(name) == group
			continue
		}
		if in {
			list = append(list, strings.Fields(line)...)
		}
	}
	return list
}

const maxNumbered = 9 // of machines of one kind: web1 … web9, web01 … web09

// Candidates are the names to try below a domain: those of the list, the caller's words,
// machines with numbers, and services by their stage of deployment.
func Candidates(root string, more []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, group := range [][]string{wordsOf(""), more} {
			for _, word := range group {
				if !yield(word + "." + root) {
					return
				}
			}
		}
		for _, machine := range wordsOf("machines") {
			for i := range maxNumbered {
				n := strconv.Itoa(i + 1)
				if !yield(machine+n+"."+root) || !yield(machine+"0"+n+"."+root) {
					return
				}
			}
		}
		for _, service := range wordsOf("services") {
			for _, stage := range wordsOf("stages") {
				if !yield(service+"-"+stage+"."+root) || !yield(stage+"-"+service+"."+root) || !yield(service+"."+stage+"."+root) {
					return
				}
			}
		}
	}
}

const maxWords = 40

// Words are those to build permutations with: the stages of deployment, and the commonest parts of the names.
func Words(names []string, root string) []string {
	often := map[string]int{}
	for _, name := range names {
		for _, part := range strings.FieldsFunc(strings.TrimSuffix(name, root),
			func(r rune) bool { return r == '.' || r == '-' }) {
			if part = strings.TrimRight(part, "0123456789"); len(part) > 1 && len(part) < 16 {
				often[part]++
			}
		}
	}
	stages := wordsOf("stages")
	for _, word := range stages {
		delete(often, word)
	}
	found := slices.SortedFunc(maps.Keys(often), func(a, b string) int {
		return cmp.Or(cmp.Compare(often[b], often[a]), cmp.Compare(a, b))
	})
	return append(stages, found[:min(len(found), maxWords)]...)
}

// Permutations are names near those that were found: first other numbers, then parts swapped, joined and exchanged,
// then words before and after. Some come more than once.
func Permutations(names []string, root string, words []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, change := range []func(label string, words []string, yield func(string) bool) bool{
			numbers, parts, additions,
		} {
			for _, name := range names {
				rest, ok := strings.CutSuffix(name, "."+root)
				if !ok {
					continue
				}
				labels := strings.Split(rest, ".")
				for i, label := range labels[:min(len(labels), 3)] {
					before, after := strings.Join(labels[:i], "."),
						strings.Join(append(labels[i+1:len(labels):len(labels)], root), ".")
					if before != "" {
						before += "."
					}
					if !change(label, words, func(changed string) bool { return yield(before + changed + "." + after) }) {
						return
					}
				}
			}
		}
	}
}

// numbers changes the numbers of a label, or gives it one.
func numbers(label string, _ []string, yield func(string) bool) bool {
	isDigit := func(i int) bool { return label[i] >= '0' && label[i] <= '9' }
	had := false
	for i := 0; i < len(label); i++ {
		if !isDigit(i) {
			continue
		}
		end := i
		for end < len(label) && isDigit(end) {
			end++
		}
		had = true
		n, err := strconv.Atoi(label[i:end])
		for _, step := range []int{1, -1, 2, -2, 3, -3} {
			if err != nil || n+step < 0 {
				continue
			}
			other := strconv.Itoa(n + step)
			if pad := end - i - len(other); pad > 0 && label[i] == '0' {
				other = strings.Repeat("0", pad) + other
			}
			if !yield(label[:i] + other + label[end:]) {
				return false
			}
		}
		if !yield(label[:i] + label[end:]) {
			return false
		}
		i = end
	}
	if had {
		return true
	}
	for _, tail := range []string{"1", "2", "3", "4", "01", "02", "03", "-1", "-2", "-01", "-02"} {
		if !yield(label + tail) {
			return false
		}
	}
	return true
}

// parts swaps, joins and exchanges the parts between hyphens.
func parts(label string, words []string, yield func(string) bool) bool {
	list := strings.Split(label, "-")
	if len(list) < 2 || len(list) > 6 {
		return true
	}
	if !yield(strings.Join(list, "")) || !yield(strings.Join(list, ".")) {
		return false
	}
	for i := range list {
		if !yield(strings.Join(slices.Delete(slices.Clone(list), i, i+1), "-")) {
			return false
		}
		if i > 0 {
			swapped := slices.Clone(list)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			if !yield(strings.Join(swapped, "-")) {
				return false
			}
		}
		for _, word := range words {
			other := slices.Clone(list)
			other[i] = word
			if !yield(strings.Join(other, "-")) {
				return false
			}
		}
	}
	return true
}

// additions puts words before and after a label, within it and as labels.
func additions(label string, words []string, yield func(string) bool) bool {
	for _, word := range words {
		if word == label {
			continue
		}
		for _, changed := range []string{label + "-" + word, word + "-" + label, word + "." + label, label + "." + word,
			label + word} {
			if !yield(changed) {
				return false
			}
		}
	}
	return true
}
