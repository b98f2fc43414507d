package mask

import "strings"

// scanner finds the secrets of one text.
type scanner struct {
	text  string
	spans []span
	done  int // everything before it is decided
}

// pairs are pairs of bytes, by the first one and the last six bits of the second, so that a few other pairs pass too.
type pairs [256]uint64

func (p *pairs) add(first, second byte) { p[first] |= 1 << (second & 63) }

func (p *pairs) has(first, second byte) bool { return p[first]>>(second&63)&1 != 0 }

// stops are the bytes at which a secret may begin, or whose name may end, with the byte after them.
var stops = func() *pairs {
	p := &pairs{'=': ^uint64(0), ':': ^uint64(0), '>': ^uint64(0)}
	p.add('-', '-')
	p.add('e', 'y') // a JWT
	for _, all := range shapes {
		for _, s := range all {
			p.add(s.begins[0], s.begins[1])
		}
	}
	return p
}()

func (s *scanner) scan() {
	text := s.text
	for i := 0; i+1 < len(text); i++ {
		c := text[i]
		if !stops.has(c, text[i+1]) {
			continue
		}
		if i < s.done {
			i = s.done - 1
			continue
		}
		switch c {
		case '=':
			s.assignment(i)
		case ':':
			s.colon(i)
		case '>':
			s.element(i)
		case '-':
			if body, ok := pem(text, i); ok {
				s.add(body.from, body.to)
			}
		default:
			if i > 0 && (inToken(text[i-1]) && text[i-1] != '-' && text[i-1] != '_') {
				continue
			}
			if end := key(text, i); end > 0 {
				s.add(i, end)
			}
		}
	}
}

// add masks a part, unless it is empty, begins before what is decided already, or is a mark.
func (s *scanner) add(from, to int) {
	if from < s.done || to <= from || strings.HasPrefix(s.text[from:to], mark) {
		return
	}
	s.spans = append(s.spans, span{from, to})
	s.done = to
}

func inName(c byte) bool { return inToken(c) || c == '.' || c == '[' || c == ']' || c == '%' }

// name is the name that ends before i, blanks between left out, and where it begins.
func (s *scanner) name(i int, blanks bool) (string, int) {
	end := i
	for blanks && end > 0 && (s.text[end-1] == ' ' || s.text[end-1] == '\t') && i-end < 8 {
		end--
	}
	if end > 0 && (s.text[end-1] == '"' || s.text[end-1] == '\'') {
		end--
		if end > 0 && s.text[end-1] == '\\' {
			end--
		}
	}
	from := end
	for from > 0 && end-from <= longestName && inName(s.text[from-1]) {
		from--
	}
	return s.text[from:end], from
}

// assignment is at "=" of a parameter, a cookie, a variable or an attribute.
func (s *scanner) assignment(i int) {
	name, _ := s.name(i, true)
	if len(name) < 2 {
		return
	}
	if name == "name" || name == "id" || name == "NAME" {
		s.input(i)
		return
	}
	if !secretName(name) {
		return
	}
	from, to := s.value(i + 1)
	s.secret(from, to)
}

// secret masks a value that its name calls a secret, unless it is a word that says nothing.
func (s *scanner) secret(from, to int) {
	switch value := s.text[from:to]; {
	case len(value) < 3, value == "true", value == "false", value == "null", value == "None", value == "undefined":
	case to < len(s.text) && s.text[to] == '(': // a call
	default:
		s.add(from, to)
	}
}

// value is the value that begins at i, after blanks: a quoted text, or up to a delimiter.
func (s *scanner) value(i int) (from, to int) {
	text := s.text
	for n := 0; n < 8 && i < len(text) && (text[i] == ' ' || text[i] == '\t'); n++ {
		i++
	}
	if i < len(text) && text[i] == '\\' && i+1 < len(text) && text[i+1] == '"' { // in JSON within JSON
		if end := strings.Index(text[i+2:], `\"`); end >= 0 {
			return i + 2, i + 2 + end
		}
		return i, i
	}
	if i < len(text) && (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
		return i + 1, s.quoted(i+1, text[i])
	}
	to = i
	for to < len(text) && strings.IndexByte("&;\"'`<>,()}{ \t\r\n\\", text[to]) < 0 {
		to++
	}
	return i, to
}

// quoted is the end of a text in quotes: its closing quote, or the end of the line where there is none.
func (s *scanner) quoted(i int, quote byte) int {
	text := s.text
	for ; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote, '\n', '\r':
			return i
		}
	}
	return len(text)
}

// input is at "=" of name="csrf" or id="csrf" in an element: its value or content is a secret.
func (s *scanner) input(i int) {
	from, to := s.value(i + 1)
	if to > len(s.text) || !secretName(s.text[from:to]) {
		return
	}
	open := strings.LastIndexByte(s.text[max(0, i-400):i], '<')
	if open < 0 {
		return
	}
	open += max(0, i-400)
	end := strings.IndexByte(s.text[to:], '>')
	if end < 0 || end > 4000 || strings.IndexByte(s.text[open:i], '>') >= 0 {
		return
	}
	element := s.text[open : to+end]
	for _, attribute := range []string{" value=", " content=", " VALUE=", " CONTENT="} {
		if at := strings.Index(element, attribute); at >= 0 {
			s.secret(s.value(open + at + len(attribute)))
		}
	}
}

// colon is at ":" of a header, a member or the credentials of a URL.
func (s *scanner) colon(i int) {
	text := s.text
	if strings.HasPrefix(text[i:], "://") {
		s.userinfo(i + 3)
		return
	}
	name, begin := s.name(i, false)
	if len(name) < 3 {
		return
	}
	quoted := text[i-1] == '"' || text[i-1] == '\''
	first := s.startsLine(begin)
	if first && !quoted && s.header(name, i+1) || !secretName(name) {
		return
	}
	if first && !quoted && i+1 < len(text) && text[i+1] == ' ' { // a header, or a line of YAML
		s.secret(s.line(i + 1))
		return
	}
	if quoted || i+1 < len(text) && text[i+1] != ' ' && !first {
		s.secret(s.value(i + 1))
	}
}

// startsLine reports whether only blanks and what marks an option of curl stand before i in its line.
func (s *scanner) startsLine(i int) bool {
	for i > 0 && (s.text[i-1] == ' ' || s.text[i-1] == '\t') {
		i--
	}
	return i == 0 || s.text[i-1] == '\n' || (s.text[i-1] == '\'' || s.text[i-1] == '"') && i > 1 && s.text[i-2] == ' '
}

// line is the rest of a line without blanks around; the quote that ends an argument of curl is not in it.
func (s *scanner) line(i int) (from, to int) {
	for i < len(s.text) && (s.text[i] == ' ' || s.text[i] == '\t') {
		i++
	}
	to = i
	for to < len(s.text) && s.text[to] != '\r' && s.text[to] != '\n' && s.text[to] != '\'' && s.text[to] != '"' {
		to++
	}
	if to == i && to < len(s.text) && (s.text[to] == '"' || s.text[to] == '\'') {
		return i + 1, s.quoted(i+1, s.text[i])
	}
	for to > i && s.text[to-1] == ' ' {
		to--
	}
	return i, to
}

// header masks the headers whose values have parts, and reports whether it is one.
func (s *scanner) header(name string, i int) bool {
	switch {
	case strings.EqualFold(name, "cookie"):
		s.cookies(i, false)
	case strings.EqualFold(name, "set-cookie"):
		s.cookies(i, true)
	case strings.EqualFold(name, "authorization"), strings.EqualFold(name, "proxy-authorization"):
		from, to := s.line(i)
		if scheme := strings.IndexByte(s.text[from:to], ' '); scheme > 0 && scheme < 20 { // its name stays
			from += scheme + 1
		}
		s.add(from, to)
	default:
		return false
	}
	return true
}

// cookies masks the values of Cookie, or the first one of Set-Cookie: what follows are its attributes.
func (s *scanner) cookies(i int, onlyFirst bool) {
	end := i
	for end < len(s.text) && s.text[end] != '\r' && s.text[end] != '\n' && s.text[end] != '\'' {
		end++
	}
	for at := i; at < end; {
		next := at
		for next < end && s.text[next] != ';' {
			next++
		}
		if equals := strings.IndexByte(s.text[at:next], '='); equals >= 0 {
			from, to := at+equals+1, next
			if to-from >= 2 && s.text[from] == '"' && s.text[to-1] == '"' {
				from, to = from+1, to-1
			}
			s.add(from, to)
		}
		if onlyFirst {
			break
		}
		at = next + 1
	}
	s.done = max(s.done, end)
}

// userinfo masks the password of a URL whose authority begins at i.
func (s *scanner) userinfo(i int) {
	colon := -1
	for at := i; at < len(s.text) && at-i < 256; at++ {
		switch s.text[at] {
		case ':':
			if colon < 0 {
				colon = at
			}
		case '@':
			if colon >= 0 {
				s.add(colon+1, at)
			}
			return
		case '/', ' ', '?', '#', '"', '\'', '<', '\r', '\n':
			return
		}
	}
}

// element is at ">" of <password>.
func (s *scanner) element(i int) {
	if i == 0 || !inToken(s.text[i-1]) {
		return
	}
	name, begin := s.name(i, false)
	if len(name) < 3 || begin == 0 || s.text[begin-1] != '<' && s.text[begin-1] != ':' || !secretName(name) {
		return
	}
	end := strings.IndexByte(s.text[i+1:], '<')
	if end < 0 || !strings.HasPrefix(s.text[i+1+end:], "</") {
		return
	}
	s.secret(i+1, i+1+end)
}
