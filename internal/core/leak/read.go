package leak

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Breach lists have no common format. These are read, plain or compressed with gzip:
//
//	JSON, an object a line:  {"url": "https://shop.example.com/login", "username": "ada@example.com", "password": "…"}
//	CSV with a head, separated by commas, semicolons or tabs; columns with other names are passed over
//	lists of logins:         ada@example.com:password   or   https://shop.example.com/login:ada@example.com:password
//
// Fields of JSON and CSV go by the names in names.

const (
	maxLine  = 64 << 10
	maxField = 2000 // bytes; more of a field is cut off
)

// record is a line of a list as it was read.
type record struct {
	Line
	date   time.Time
	hashes []string // under which it is looked up; see names
}

// names are the fields by what lists call them.
var names = fieldNames()

func fieldNames() map[string]func(*record) *string {
	out := map[string]func(*record) *string{}
	for words, of := range map[string]func(*record) *string{
		"url website host_url domain site login_url":   func(r *record) *string { return &r.URL },
		"username user login email mail email_address": func(r *record) *string { return &r.Username },
		"password pass passwd":                         func(r *record) *string { return &r.Password },
		"device_ip ip ip_address":                      func(r *record) *string { return &r.DeviceIP },
		"host_username computer_user windows_user":     func(r *record) *string { return &r.HostUsername },
		"hostname computer_name device_name machine":   func(r *record) *string { return &r.Hostname },
		"os operating_system":                          func(r *record) *string { return &r.OS },
		"malware_path malware":                         func(r *record) *string { return &r.MalwarePath },
		"country country_code":                         func(r *record) *string { return &r.Country },
		"hardware_id hwid machine_id":                  func(r *record) *string { return &r.HardwareID },
	} {
		for word := range strings.FieldsSeq(words) {
			out[word] = of
		}
	}
	return out
}

// dateNames are what lists call the time at which a line was taken.
var dateNames = map[string]bool{"log_date": true, "date": true, "date_compromised": true, "breach_date": true}

// set sets a field by what a list calls it; known is false for other words.
func (r *record) set(name, value string) (known bool) {
	name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_")
	if dateNames[name] {
		r.date = moment(value)
		return true
	}
	of, known := names[name]
	if known {
		*of(r) = clip(value)
	}
	return known
}

// clip makes a field text of bounded length.
func clip(s string) string {
	s = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", ""))
	if len(s) > maxField {
		s = strings.ToValidUTF8(s[:maxField], "")
	}
	return s
}

var dateFormats = []string{time.RFC3339, time.DateTime, time.DateOnly, "2006-01-02T15:04:05", "2006-01-02 15:04",
	"02.01.2006 15:04:05", "02.01.2006", "2006/01/02 15:04:05", "2006/01/02"}

// moment reads a time; zero if it is in no known format.
func moment(text string) time.Time {
	for _, format := range dateFormats {
		if t, err := time.Parse(format, strings.TrimSpace(text)); err == nil && t.Year() >= 1970 && t.Year() < 3000 {
			return t.UTC()
		}
	}
	return time.Time{}
}

// reader reads the records of a list one by one.
type reader struct {
	lines  *bufio.Reader
	number int // of the last line
	parse  func(line string) (record, error)
}

// newReader finds out the format of a list by its first line.
func newReader(in io.Reader) (*reader, error) {
	buffered := bufio.NewReaderSize(in, maxLine)
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, err
		}
		buffered = bufio.NewReaderSize(unpacked, maxLine)
	}
	r := &reader{lines: buffered, parse: parseLogin}
	first, err := buffered.Peek(maxLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	first = bytes.TrimPrefix(first, []byte("\xef\xbb\xbf"))
	line, _, _ := strings.Cut(string(first), "\n")
	switch line = strings.TrimSpace(line); {
	case line == "":
		return nil, errs.New(errs.Invalid, "empty_list", "The list begins with an empty line, or has none.")
	case strings.HasPrefix(line, "{"):
		r.parse = parseJSON
	case strings.HasPrefix(line, "["):
		return nil, errs.New(errs.Invalid, "unknown_list", "A list in JSON has an object on each line, and is no array.")
	default:
		if columns, comma, ok := head(line); ok {
			r.parse = csvParser(columns, comma)
			_, err = r.line()
			return r, err
		}
	}
	return r, nil
}

// line is the next line, without its end. A line that is too long is read to its end, and is an error that says so.
func (r *reader) line() (string, error) {
	r.number++
	text, err := r.lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if errors.Is(err, io.EOF) && len(text) > 0 {
			err = nil
		}
		return strings.TrimRight(string(text), "\r\n"), err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.lines.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return "", errTooLong
}

var (
	errTooLong = fmt.Errorf("is longer than %d bytes", maxLine)
	errLogin   = errors.New("names neither an email address nor a URL with a domain")
)

// next is the next record. A line that is none is an error of the type rejected, after which reading goes on.
func (r *reader) next() (record, error) {
	for {
		line, err := r.line()
		if errors.Is(err, errTooLong) {
			return record{}, rejected{r.number, err}
		}
		if err != nil {
			return record{}, err
		}
		if line = strings.TrimPrefix(line, "\xef\xbb\xbf"); strings.TrimSpace(line) == "" {
			continue
		}
		rec, err := r.parse(line)
		if err != nil {
			return record{}, rejected{r.number, err}
		}
		return rec, nil
	}
}

// rejected is a line that is no leak.
type rejected struct {
	line int
	why  error
}

// Error implements error.
func (r rejected) Error() string { return fmt.Sprintf("line %d: %s", r.line, r.why) }

func parseJSON(line string) (r record, err error) {
	var fields map[string]any
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		return r, errors.New("is no JSON object")
	}
	for name, value := range fields {
		if text, ok := value.(string); ok {
			r.set(name, text)
		}
	}
	return r, nil
}

// head reads the columns of a list in CSV: a line that names the URL or the login, and at least one further field.
func head(line string) (columns []string, comma rune, ok bool) {
	for _, comma := range []rune{',', ';', '\t'} {
		columns, err := csvFields(line, comma)
		if err != nil {
			continue
		}
		known := 0
		var login record
		for _, c := range columns {
			if login.set(c, "x") {
				known++
			}
		}
		if known >= 2 && login.URL+login.Username != "" {
			return columns, comma, true
		}
	}
	return nil, 0, false
}

func csvFields(line string, comma rune) ([]string, error) {
	r := csv.NewReader(strings.NewReader(line))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = comma, true, -1
	return r.Read()
}

func csvParser(columns []string, comma rune) func(string) (record, error) {
	return func(line string) (r record, err error) {
		values, err := csvFields(line, comma)
		if err != nil {
			return r, errors.New("is no record of CSV")
		}
		for i, value := range values[:min(len(values), len(columns))] {
			r.set(columns[i], value)
		}
		return r, nil
	}
}

// parseLogin reads login:password or URL:login:password.
func parseLogin(line string) (r record, err error) {
	if !utf8.ValidString(line) {
		line = strings.ToValidUTF8(line, "\uFFFD")
	}
	login := line
	if scheme, rest, ok := strings.Cut(line, "://"); ok && !strings.ContainsAny(scheme, ":@ ") {
		end := endOfURL(rest)
		r.URL, login = clip(scheme+"://"+rest[:end]), strings.TrimPrefix(rest[end:], ":")
	}
	at := strings.IndexAny(login, ":;")
	if at < 0 {
		return r, errors.New("is no login and password, separated by a colon")
	}
	r.Username, r.Password = clip(login[:at]), clip(login[at+1:])
	return r, nil
}

// endOfURL is where a URL without its scheme ends: at the first colon that does not begin a port.
func endOfURL(rest string) int {
	for i, c := range rest {
		if c != ':' {
			continue
		}
		digits := len(rest[i+1:]) - len(strings.TrimLeft(rest[i+1:], "0123456789"))
		after := rest[i+1+digits:]
		port := digits > 0 && digits <= 5 && !strings.Contains(rest[:i], "/") &&
			(strings.HasPrefix(after, "/") || strings.HasPrefix(after, ":"))
		if !port {
			return i
		}
	}
	return len(rest)
}
