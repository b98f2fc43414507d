package cli

import (
	"bufio"
	"fmt"
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

// MaxAddresses is how many addresses all networks among the targets may have together.
const MaxAddresses = 1 << 20

// Exclusion holds the hosts that --exclude-hosts names: they are never contacted.
type Exclusion struct {
	hosts    map[string]bool // in lower case
	Networks []netip.Prefix
	patterns []*regexp.Regexp
}

// NewExclusion reads hosts with or without a port, URLs, networks and regular expressions.
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
				return x, Usage(fmt.Errorf("--exclude-hosts %q: %w", text, err))
			}
			x.patterns = append(x.patterns, pattern)
		}
	}
	return x, nil
}

// Has says whether a host is excluded, on all ports or on this one.
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

// The bounds of a file of targets, words or values, in bytes.
const (
	MaxFile = 64 << 20
	maxLine = 64 << 10
)

// IsFile says whether a name is that of a regular file.
func IsFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// ReadLines reads the lines of a file as Lines does.
func ReadLines(name string) ([]string, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Lines(file)
}

// ReadList reads the lines of a file; - is standard input.
func ReadList(name string, in io.Reader) ([]string, error) {
	if name == "-" {
		return Lines(in)
	}
	return ReadLines(name)
}

// Lines reads lines, without empty ones, comments, and the blanks around them.
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
