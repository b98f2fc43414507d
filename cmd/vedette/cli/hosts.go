package cli

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// MaxAddresses bounds the addresses of all networks among the targets.
const MaxAddresses = 1 << 20

// Exclusion has the hosts of --exclude-hosts, which are never contacted.
type Exclusion struct {
	hosts    map[string]bool // in lower case
	Networks []netip.Prefix
	patterns []*regexp.Regexp
}

// NewExclusion parses hosts with or without a port, URLs, networks and regular expressions.
func NewExclusion(texts []string) (*Exclusion, error) {
	x := &Exclusion{hosts: map[string]bool{}}
	for _, text := range texts {
		if prefix, err := netguard.ParsePrefix(text); err == nil {
			x.Networks = append(x.Networks, prefix)
			continue
		}
		host := text
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			host = u.Host
		}
		x.hosts[strings.ToLower(host)] = true
		if strings.ContainsAny(text, `*+?^$[]()|\`) {
			pattern, err := regexp.Compile("(?i)" + text)
			if err != nil {
				return x, Usagef("--exclude-hosts %q: %w", text, err)
			}
			x.patterns = append(x.patterns, pattern)
		}
	}
	return x, nil
}

// Has reports whether a host is excluded, on all ports or on this one.
func (x *Exclusion) Has(host, port string) bool {
	name := strings.ToLower(host)
	if x.hosts[name] || x.hosts["["+name+"]"] || x.hosts[net.JoinHostPort(name, port)] {
		return true
	}
	if a, err := netip.ParseAddr(name); err == nil {
		a = a.Unmap().WithZone("")
		if slices.ContainsFunc(x.Networks, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return true
		}
	}
	return slices.ContainsFunc(x.patterns, func(p *regexp.Regexp) bool { return p.MatchString(name) })
}

// Limits of a file of targets, words or values, in bytes.
const (
	MaxFile = 64 << 20
	maxLine = 64 << 10
)

// IsFile reports whether a name is a regular file.
func IsFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// ReadLines reads the lines of a file as Lines does.
func ReadLines(name string) ([]string, error) {
	file, err := os.Open(name) //nolint:gosec // users name files of their own
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Lines(file)
}

// ReadLists reads the lines of the files of --list; - is standard input.
func ReadLists(names []string, in io.Reader) (all []string, err error) {
	for _, name := range names {
		var lines []string
		if name == "-" {
			lines, err = Lines(in)
		} else {
			lines, err = ReadLines(name)
		}
		if err != nil {
			return nil, Usagef("--list %s: %w", name, err)
		}
		all = append(all, lines...)
	}
	return all, nil
}

// ParseDenied parses the networks of --deny-targets.
func ParseDenied(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		p, err := netguard.ParsePrefix(text)
		if err != nil {
			return nil, Usagef("--deny-targets %q: %w", text, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// TakeAddresses subtracts the number of addresses of a network from left, which is MaxAddresses at first.
func TakeAddresses(p netip.Prefix, left *int) error {
	bits := p.Addr().BitLen() - p.Bits()
	if bits > 20 || 1<<bits > *left {
		return Usagef("%s: the networks have more than %d addresses together", p, MaxAddresses)
	}
	*left -= 1 << bits
	return nil
}

// Lines reads lines without blanks around them, empty lines and comments.
func Lines(from io.Reader) (lines []string, err error) {
	scanner := bufio.NewScanner(io.LimitReader(from, MaxFile))
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		if line := strings.TrimSpace(scanner.Text()); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines, scanner.Err()
}
