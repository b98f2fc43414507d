package scan

import (
	"errors"
	"io"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// scanTargets are the targets as given, as scanned, and the excluded hosts.
type scanTargets struct {
	named    []string
	targets  []string
	excluded *cli.Exclusion
}

// readTargets reads the targets of --target and --list, or else of standard input. Networks become addresses;
// excluded hosts are left out.
func (f *scanFlags) readTargets(in io.Reader) (*scanTargets, error) {
	a := &scanTargets{named: slices.Clone(f.targets)}
	lists := f.lists
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
	if err != nil {
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
	target, err := engine.ParseTarget(text)
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

// newScope is the scope of the targets and --scope, without what is denied.
func (f *scanFlags) newScope(named []string, proxy *netguard.Proxy) (*netguard.Scope, error) {
	var all []netguard.Target
	for _, text := range slices.Concat(named, f.scope) {
		target, err := netguard.ParseTarget(text)
		if err != nil {
			if e, ok := errors.AsType[*errs.Error](err); ok {
				return nil, cli.Usagef("%q: %s", cli.Printable(text), e.Message)
			}
			return nil, cli.Usage(err)
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
	limits := netguard.Limits{Deny: denied}
	if proxy != nil {
		if limits.Names = proxy.LooksUp(); limits.Names && len(denied) > 0 {
			return nil, cli.Usagef("--proxy socks5h:// looks names up itself, so that networks cannot be denied: use socks5://")
		}
		limits.Through = cli.ProxyGuard().Through(proxy)
	}
	return netguard.NewScope(all, limits)
}
