package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// maxAddresses is how many addresses all networks among the targets may have together.
const maxAddresses = 1 << 20

// aims is where a scan goes: what was named, the targets that this makes, and what is
// never contacted.
type aims struct {
	named    []string
	targets  []string
	excluded *exclusion
}

// readTargets reads the targets of --target, of --list and, without any, of standard
// input; networks become their addresses, and excluded hosts are left out.
func (f *scanFlags) readTargets(in io.Reader) (*aims, error) {
	a := &aims{named: slices.Clone(f.targets)}
	lists := f.lists
	if len(a.named)+len(lists) == 0 && !f.noStdin && isPiped(in) {
		lists = []string{"-"}
	}
	for _, name := range lists {
		lines, err := f.readList(name, in)
		if err != nil {
			return nil, usage(fmt.Errorf("--list %s: %w", name, err))
		}
		a.named = append(a.named, lines...)
	}
	if len(a.named) == 0 && !f.load.Allow.SelfContained {
		return nil, usage(errors.New("there is no target: use --target or --list"))
	}
	var err error
	if a.excluded, err = newExclusion(f.exclude); err != nil {
		return nil, err
	}
	left := maxAddresses
	for _, text := range a.named {
		addresses, err := expandNetwork(text, &left)
		if err != nil {
			return nil, usage(err)
		}
		for _, target := range addresses {
			if !a.excluded.hasTarget(target) {
				a.targets = append(a.targets, target)
			}
		}
	}
	if len(a.named) > 0 && len(a.targets) == 0 {
		return nil, usage(errors.New("--exclude-hosts leaves no target"))
	}
	return a, nil
}

func (f *scanFlags) readList(name string, in io.Reader) ([]string, error) {
	if name == "-" {
		return linesOf(in)
	}
	return readLines(name)
}

// isPiped says whether something was put into standard input: it is neither a terminal
// nor another device.
func isPiped(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// expandNetwork gives the addresses of a network, or the target itself when it is none.
// left is how many addresses there may be yet.
func expandNetwork(text string, left *int) ([]string, error) {
	if number, isAS := strings.CutPrefix(strings.ToUpper(text), "AS"); isAS && strings.Trim(number, "0123456789") == "" && number != "" {
		return nil, fmt.Errorf("%s: networks are not looked up by their AS number; give them as CIDR", text)
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return []string{text}, nil //nolint:nilerr // it is a target of another kind
	}
	prefix = prefix.Masked()
	bits := prefix.Addr().BitLen() - prefix.Bits()
	if bits > 20 || 1<<bits > *left {
		return nil, fmt.Errorf("%s: the networks have more than %d addresses together", text, maxAddresses)
	}
	*left -= 1 << bits
	all := make([]string, 0, 1<<bits)
	for a := prefix.Addr(); a.IsValid() && prefix.Contains(a); a = a.Next() {
		all = append(all, a.String())
	}
	return all, nil
}

// exclusion is what --exclude-hosts names.
type exclusion struct {
	hosts    map[string]bool // in lower case
	networks []netip.Prefix
	patterns []*regexp.Regexp
}

func newExclusion(texts []string) (*exclusion, error) {
	x := &exclusion{hosts: map[string]bool{}}
	for _, text := range texts {
		if prefix, err := netguard.ParsePrefix(text); err == nil {
			x.networks = append(x.networks, prefix)
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
				return x, usage(fmt.Errorf("--exclude-hosts %q: %w", text, err))
			}
			x.patterns = append(x.patterns, pattern)
		}
	}
	return x, nil
}

// hasTarget says whether a target is excluded. One that cannot be read is not: the scan
// says what is wrong with it.
func (x *exclusion) hasTarget(text string) bool {
	target, err := engine.ParseTarget(text)
	if err != nil {
		return false
	}
	u, err := url.Parse(target.URL())
	return err == nil && x.has(u)
}

// has says whether the host of a URL is excluded, with or without its port.
func (x *exclusion) has(u *url.URL) bool {
	name := strings.ToLower(u.Hostname())
	if x.hosts[name] || x.hosts[strings.ToLower(u.Host)] {
		return true
	}
	if a, err := netip.ParseAddr(name); err == nil {
		a = a.Unmap().WithZone("")
		if slices.ContainsFunc(x.networks, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return true
		}
	}
	return x.matches(name)
}

// matches says whether a host's name fits one of the patterns.
func (x *exclusion) matches(name string) bool {
	return slices.ContainsFunc(x.patterns, func(p *regexp.Regexp) bool { return p.MatchString(name) })
}

// allows is what an engine asks before each request.
func (x *exclusion) allows(u *url.URL) bool { return !x.has(u) }

// localNetworks are what --restrict-local-network-access denies.
var localNetworks = []string{
	"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7", "fe80::/10",
}

// newScope is what the targets and --scope name, less what is denied.
func (f *scanFlags) newScope(named []string) (*netguard.Scope, error) {
	var all []netguard.Target
	for _, text := range slices.Concat(named, f.scope) {
		target, err := netguard.ParseTarget(text)
		if err != nil {
			if e, ok := errors.AsType[*errs.Error](err); ok {
				return nil, usage(fmt.Errorf("%q: %s", printable(text), e.Message))
			}
			return nil, usage(err)
		}
		all = append(all, target)
	}
	var limits netguard.Limits
	deny := slices.Clone(f.deny)
	if f.noLocal {
		deny = append(deny, localNetworks...)
	}
	for _, text := range deny {
		p, err := netguard.ParsePrefix(text)
		if err != nil {
			return nil, usage(fmt.Errorf("--deny-targets %q: %w", text, err))
		}
		limits.Deny = append(limits.Deny, p)
	}
	return netguard.NewScope(all, limits)
}
