package syntax

import (
	"bytes"
	"crypto/rand"
	"regexp"
	"slices"
	"strings"
)

// What happens to a text before it is read: includes and random markers; and the digest line, which is a comment to
// YAML.

const digestMark = "# digest: "

// Unsigned is a template's text without its digest line, as it was signed; imported files follow it.
func Unsigned(data []byte) []byte {
	if i := bytes.LastIndex(data, []byte(digestMark)); i >= 0 {
		data = bytes.TrimSpace(data[:i])
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}

func signature(data []byte) Signature {
	i := bytes.LastIndex(data, []byte(digestMark))
	if i < 0 {
		return Signature{}
	}
	// All that follows: what stands below the line is not signed, and makes no digest.
	digest, fragment, _ := strings.Cut(string(bytes.TrimSpace(data[i+len(digestMark):])), ":")
	return Signature{Present: true, Digest: digest, Fragment: fragment}
}

var randomMark = regexp.MustCompile(`\{\{(?:(?i:randstr)|randstr_[a-z0-9_]*)\}\}`)

// randomize replaces random markers, equal ones by the same value, and returns these as constants.
func (o Options) randomize(data []byte) ([]byte, []Variable) {
	if !bytes.Contains(data, []byte("randstr")) {
		return data, nil
	}
	fresh := o.NewRandom
	if fresh == nil {
		fresh = Random
	}
	var made []Variable
	data = randomMark.ReplaceAllFunc(data, func(mark []byte) []byte {
		i := slices.IndexFunc(made, func(v Variable) bool { return v.Name == string(mark) })
		if i < 0 {
			i = len(made)
			value := fresh()
			made = append(made, Variable{Name: string(mark), Value: value, Data: value})
		}
		return []byte(made[i].Value)
	})
	return data, made
}

// Random returns 27 random letters and digits for a {{randstr}} marker. In lower case it never contains a name such as
// DN or SD, which would make a variable depend on the target (template language 1.4).
func Random() string { return strings.ToLower(rand.Text() + rand.Text()[:1]) }

var includeLine = regexp.MustCompile(`(?m)^([ \t]*)#[ \t]*!include:(.*)$`)

const maxIncludes = 32 // how deep files may include files

// include replaces include lines by their files, indented like the line.
func (o Options) include(path string, data []byte) ([]byte, error) {
	if !o.Lenient || o.Include == nil || !includeLine.Match(data) {
		return data, nil
	}
	return o.expand(path, data, nil)
}

func (o Options) expand(path string, data []byte, inside []string) ([]byte, error) {
	var out bytes.Buffer
	from := 0
	for _, at := range includeLine.FindAllSubmatchIndex(data, -1) {
		line := 1 + bytes.Count(data[:at[0]], []byte("\n"))
		indent, name := data[at[2]:at[3]], strings.TrimSpace(string(data[at[4]:at[5]]))
		switch {
		case slices.Contains(inside, name):
			return nil, Fault(path, line, 0, "!include", "%s includes itself", name)
		case len(inside) == maxIncludes:
			return nil, Fault(path, line, 0, "!include", "more than %d files include each other", maxIncludes)
		}
		text, err := o.Include(name)
		if err != nil {
			return nil, Fault(path, line, 0, "!include", "%v", err)
		}
		if text, err = o.expand(name, text, append(inside, name)); err != nil {
			return nil, err
		}
		out.Write(data[from:at[0]])
		for i, part := range bytes.Split(bytes.TrimRight(text, "\r\n"), []byte("\n")) {
			if i > 0 {
				out.WriteByte('\n')
			}
			out.Write(indent)
			out.Write(part)
		}
		if from = at[1]; out.Len()+len(data)-from > MaxBytes {
			return nil, Fault(path, line, 0, "!include", "with its includes the template is larger than %d bytes", MaxBytes)
		}
	}
	out.Write(data[from:])
	return out.Bytes(), nil
}
