package windows

import (
	"net"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/ntlm"
	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

// RDP is the module nuclei/rdp.
func RDP(h *host.Host) *goja.Object {
	values := map[string]goja.Value{
		"IsRDP": h.Func(h.Waits(func(a *host.Args) (any, error) {
			return h.Ask(a, 0, func(conn net.Conn) (any, error) {
				got, err := h.Exchange(conn, rdpRequest(11))
				if err != nil {
					return nil, err
				}
				is := isRDP(got)
				system := ""
				if is {
					system = rdpSystem(got)
				}
				return host.Fields{{Name: "IsRDP", Value: is}, {Name: "OS", Value: system}}, nil
			})
		})),
		"CheckRDPAuth": h.Func(h.Waits(func(a *host.Args) (any, error) {
			return h.Ask(a, 0, func(conn net.Conn) (any, error) { return rdpAuth(h, conn, a.Text(0)) })
		})),
		"CheckRDPEncryption": h.Func(func(*host.Args) (any, error) {
			return nil, &host.Missing{Name: "rdp.CheckRDPEncryption"}
		}),
	}
	for _, name := range []string{"NativeRDP", "SSL", "CredSSP", "RDSTLS", "CredSSPWithEarlyUserAuth"} {
		values["SecurityLayer"+name] = h.VM.ToValue(name)
	}
	for _, name := range []string{"RC4_40bit", "RC4_56bit", "RC4_128bit", "FIPS140_1"} {
		values["EncryptionLevel"+name] = h.VM.ToValue(name)
	}
	return h.Module(values)
}

// rdpRequest asks for a connection with one of the protocols of a mask: 1 for TLS, 2 for CredSSP, 8 for its newer form.
func rdpRequest(protocols byte) []byte {
	return []byte{3, 0, 0, 19, 14, 0xe0, 0, 0, 0, 0, 0, 1, 0, 8, 0, protocols, 0, 0, 0}
}

// isRDP is whether an answer confirms a connection.
func isRDP(b []byte) bool {
	return len(b) >= 11 && b[0] == 3 && b[1] == 0 && int(b[3]) <= len(b) && b[5] == 0xd0
}

// rdpSystem guesses the system by the abilities that the answer names, as nuclei does; "" for an unknown one.
func rdpSystem(b []byte) string {
	if b[3] == 11 {
		return "Windows 2000"
	}
	if len(b) < 19 {
		return ""
	}
	type answer struct{ kind, flags, protocol byte }
	return map[answer]string{
		{3, 0, 2}: "Windows Server 2003", {2, 0, 2}: "Windows Server 2008", {2, 9, 2}: "Windows 7 or Server 2008 R2",
		{2, 1, 2}: "Windows Server 2008 R2 DC", {2, 0x1f, 2}: "Windows 10", {2, 0x0f, 2}: "Windows 8 or Server 2012",
		{2, 0x1f, 8}: "Windows Server 2016 or 2019",
	}[answer{b[11], b[12], b[15]}]
}

// rdpAuth begins a login with CredSSP; the challenge of the server names it.
func rdpAuth(h *host.Host, conn net.Conn, name string) (any, error) {
	got, err := h.Exchange(conn, rdpRequest(3))
	if err != nil {
		return nil, err
	}
	no := host.Fields{{Name: "PluginInfo", Value: goja.Null()}, {Name: "Auth", Value: false}}
	if !isRDP(got) || len(got) < 19 || got[11] != 2 || got[15]&3 == 0 {
		return no, nil
	}
	secure, err := tlsfacts.Client(h.Ctx, conn, name)
	if err != nil {
		return nil, err
	}
	// A TSRequest of version 6 with the token in it.
	ask := append([]byte("\x30\x37\xa0\x03\x02\x01\x06\xa1\x30\x30\x2e\x30\x2c\xa0\x2a\x04\x28"), ntlm.Negotiate()...)
	answer, err := h.Exchange(secure, ask)
	c := ntlm.Parse(answer)
	if err != nil || c == nil {
		return no, nil //nolint:nilerr // the server ends a login that it does not take
	}
	return host.Fields{{Name: "PluginInfo", Value: host.Fields{
		{Name: "OSFingerprint", Value: ""}, {Name: "OSVersion", Value: c.Version}, {Name: "TargetName", Value: c.Target},
		{Name: "NetBIOSComputerName", Value: c.Computer}, {Name: "NetBIOSDomainName", Value: c.Domain},
		{Name: "DNSComputerName", Value: c.DNSComputer}, {Name: "DNSDomainName", Value: c.DNSDomain},
		{Name: "ForestName", Value: c.Forest},
	}}, {Name: "Auth", Value: true}}, nil
}
