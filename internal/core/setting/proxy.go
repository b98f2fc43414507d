package setting

import (
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Proxy is a SOCKS5 proxy as it is stored.
type Proxy struct {
	Shown  string `json:"url"`    // with the password masked
	Sealed []byte `json:"sealed"` // the whole URL
}

// String is the URL of the proxy with the password masked; "" without a proxy.
func (p *Proxy) String() string {
	if p == nil {
		return ""
	}
	return p.Shown
}

const proxyField = "socks5_proxy"

// SealProxy checks and seals the URL of a proxy of a team; nil for "". A URL that was shown means the one that is kept.
// Invalid names the field socks5_proxy, also when the guard would not dial the proxy.
func (s *Settings) SealProxy(teamID, text string, kept *Proxy) (*Proxy, error) {
	if text == "" || kept != nil && text == kept.Shown {
		if text == "" {
			kept = nil
		}
		return kept, nil
	}
	p, err := netguard.ParseProxy(text)
	if err != nil {
		return nil, errs.Field(proxyField, "%s: %s", proxyField, errs.From(err).Message)
	}
	if _, masked := p.HasPassword(); masked {
		return nil, errs.Field(proxyField, "%s: enter the password again.", proxyField)
	}
	if err := s.guard.CheckProxy(p); err != nil {
		return nil, errs.Field(proxyField, "%s: %s", proxyField, errs.From(err).Message)
	}
	sealed, err := s.Seal(teamID, proxyField, []byte(p.URL()))
	return &Proxy{p.Masked(), sealed}, err
}

// OpenProxy is what SealProxy sealed for a team; nil for nil.
func (s *Settings) OpenProxy(teamID string, p *Proxy) (*netguard.Proxy, error) {
	if p == nil {
		return nil, nil
	}
	text, err := s.Open(teamID, proxyField, p.Sealed)
	if err != nil {
		return nil, err
	}
	return netguard.ParseProxy(string(text))
}

// Guard makes the dials that users configure, such as those to proxies.
func (s *Settings) Guard() *netguard.Guard { return s.guard }
