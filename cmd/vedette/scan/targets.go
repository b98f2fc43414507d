package scan

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

// scanTargets are the targets as given, as scanned, and the excluded hosts.
type scanTargets struct {
	named    []string
	targets  []string
	excluded *cli.Exclusion
	requests map[string]*recorded.Request // by target
	hosts    map[string]bool              // of requests
}

// readTargets reads the targets of --target and --list, or else of standard input. Networks become addresses;
// excluded hosts are left out.
func (f *scanFlags) readTargets(in io.Reader) (*scanTargets, error) {
	a := &scanTargets{named: slices.Clone(f.targets)}
	lists := f.lists
	if mode := f.inputs.mode; mode != "" && mode != "list" {
		return a, f.readRecorded(a, in)
	}
	if len(a.named)+len(lists) == 0 && !f.noStdin && isPiped(in) {
		lists = []string{"-"}
	}
	listed, err := cli.ReadLists(lists, in)
	if err != nil {
		return nil, err
	}
	a.named = append(a.named, listed...)
	if len(a.named) == 0 && !f.load.Allow.SelfContained {
		return nil, cli.Usagef("there is no target: use --target or --list")
	}
	if a.excluded, err = cli.NewExclusion(f.exclude); err != nil {
		return nil, err
	}
	left := cli.MaxAddresses
	for _, text := range a.named {
		addresses, err := expandNetwork(text, &left)
		if err != nil {
			return nil, err
		}
		for _, target := range addresses {
			if !a.excludes(target) {
				a.targets = append(a.targets, target)
			}
		}
	}
	if len(a.named) > 0 && len(a.targets) == 0 {
		return nil, cli.Usagef("--exclude-hosts leaves no target")
	}
	return a, nil
}

// isPiped reports whether standard input is a pipe or a file.
func isPiped(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// expandNetwork returns the addresses of a network, or the target itself. left is the number of addresses that are
// still allowed.
func expandNetwork(text string, left *int) ([]string, error) {
	if number, isAS := strings.CutPrefix(strings.ToUpper(text), "AS"); isAS && strings.Trim(number, "0123456789") == "" &&
		number != "" {
		return nil, cli.Usagef("%s: networks are not looked up by their AS number; give them as CIDR", text)
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || targets.IsPath(text) {
		return []string{text}, nil //nolint:nilerr // it is a target of another kind
	}
	if err := cli.TakeAddresses(prefix, left); err != nil {
		return nil, err
	}
	prefix = prefix.Masked()
	var all []string
	for a := prefix.Addr(); a.IsValid() && prefix.Contains(a); a = a.Next() {
		all = append(all, a.String())
	}
	return all, nil
}

func (a *scanTargets) allowed(u *url.URL) bool { return !a.excluded.Has(u.Hostname(), u.Port()) }

// excludes reports whether a target is excluded. For invalid targets it is false: the scan reports the error.
func (a *scanTargets) excludes(text string) bool {
	target, err := targets.Parse(text)
	if err != nil {
		return false
	}
	u, err := url.Parse(target.URL())
	return err == nil && !a.allowed(u)
}

// localNetworks are denied by --restrict-local-network-access.
var localNetworks = []string{
	"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "::1/128",
	"fc00::/7", "fe80::/10",
}

// maxScopePorts bounds --scope-ports, which each host in scope keeps.
const maxScopePorts = 100

// ports reads --scope-ports.
func (f *scanFlags) ports() (all []uint16, err error) {
	for _, text := range f.scopePorts {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return nil, cli.Usagef("--scope-ports %q: a port is a number from 1 to 65535", cli.Printable(text))
		}
		all = append(all, uint16(n))
	}
	if len(all) > maxScopePorts {
		return nil, cli.Usagef("--scope-ports: %d ports are more than %d", len(all), maxScopePorts)
	}
	return all, nil
}

// portsOf are the ports that a target names: as a number, or by the scheme of its URL.
func portsOf(text string, t netguard.Target) []uint16 {
	scheme, _, named := strings.Cut(text, "://")
	switch {
	case len(t.Ports) > 0 || !named:
		return t.Ports
	case strings.EqualFold(scheme, "https"), strings.EqualFold(scheme, "wss"):
		return []uint16{443}
	}
	return []uint16{80}
}

// newScope is the scope of the targets and of --scope, without what is denied. All ports of a target's host are in it,
// because templates look for services beside the one that a URL names; --scope-ports narrows that.
func (f *scanFlags) newScope(
	named []string, proxy *netguard.Proxy, lookup *net.Resolver,
) (*netguard.Scope, error) {
	ports, err := f.ports()
	if err != nil {
		return nil, err
	}
	var all []netguard.Target
	named = slices.DeleteFunc(slices.Clone(named), targets.IsPath)
	for i, text := range slices.Concat(named, f.scope) {
		target, err := netguard.ParseTarget(text)
		if err != nil {
			if e, ok := errors.AsType[*errs.Error](err); ok {
				return nil, cli.Usagef("%q: %s", cli.Printable(text), e.Message)
			}
			return nil, cli.Usage(err)
		}
		switch {
		case ports != nil:
			target.Ports = slices.Concat(portsOf(text, target), ports)
		case i < len(named):
			target.Ports = nil
		}
		all = append(all, target)
	}
	deny := slices.Clone(f.deny)
	if f.noLocal {
		deny = append(deny, localNetworks...)
	}
	denied, err := cli.ParseDenied(deny)
	if err != nil {
		return nil, err
	}
	limits := netguard.Limits{Deny: denied, Resolver: lookup}
	if proxy != nil {
		if limits.Names = proxy.LooksUp(); limits.Names && len(denied) > 0 {
			return nil, cli.Usagef("--proxy socks5h:// looks names up itself, so that networks cannot be denied: use socks5://")
		}
		limits.Through = cli.ProxyGuard().Through(proxy)
	}
	return netguard.NewScope(all, limits)
}
