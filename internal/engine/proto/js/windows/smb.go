package windows

import (
	"bytes"
	"encoding/asn1"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/ntlm"
)

// SMB is the module nuclei/smb.
func SMB(h *host.Host) *goja.Object {
	return h.Module(map[string]goja.Value{"SMBClient": h.Class(func(*host.Args) (*goja.Object, error) {
		return h.Object("smb.SMBClient", nil, host.Methods{
			"ListShares":         h.Waits(func(a *host.Args) (any, error) { return listShares(h, a) }),
			"ConnectSMBInfoMode": h.Waits(func(a *host.Args) (any, error) { return smbInfo(h, a) }),
			"ListSMBv2Metadata": h.Waits(func(a *host.Args) (any, error) {
				return h.Ask(a, 0, smbMetadata)
			}),
			"DetectSMBGhost": h.Waits(func(a *host.Args) (any, error) {
				return h.Ask(a, 0, func(conn net.Conn) (any, error) {
					got, err := greet(conn, newest, 0x0202, 0x0210, 0x0222, 0x0224, 0x0300, 0x0302, 0x0310, 0x0311)
					if err != nil {
						return nil, err
					}
					// Two contexts in the answer: compression is one of them.
					return got.dialect == 0x0311 && got.contexts == 2, nil
				})
			}),
		}), nil
	})})
}

// greeting is a server's answer to the first message of SMB 2.
type greeting struct {
	status, flags, capabilities     uint32
	command, credits, mode, dialect uint16
	contexts                        uint16
	guid                            []byte
	now, started                    uint64
	mechanisms                      []string
}

const (
	plain  = iota
	newest // with the contexts that SMB 3.1.1 has
)

var errNoSMB2 = errors.New("the server does not speak SMB 2")

// header begins a message of SMB 2.
func header(command uint16, id uint64) []byte {
	b := append([]byte("\xfeSMB\x40\x00\x01\x00\x00\x00\x00\x00"), byte(command), 0, 31, 0)
	b = append(b, make([]byte, 8)...)
	return append(le.AppendUint64(b, id), make([]byte, 32)...)
}

func greet(conn net.Conn, form int, dialects ...uint16) (*greeting, error) {
	b := append(header(0, 0), 36, 0, byte(len(dialects)), 0, 1, 0, 0, 0)
	b = append(b, make([]byte, 20)...)
	var contexts []byte
	if form == newest {
		contexts = append([]byte{1, 0, 38, 0, 0, 0, 0, 0, 1, 0, 32, 0, 1, 0}, make([]byte, 32+2)...) // SHA-512, its salt
		contexts = append(contexts, 3, 0, 10, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0)           // LZNT1
		at := (64 + 36 + 2*len(dialects) + 7) / 8 * 8
		b = append(le.AppendUint32(b, uint32(at)), 2, 0, 0, 0)
	} else {
		b = append(b, make([]byte, 8)...)
	}
	for _, d := range dialects {
		b = le.AppendUint16(b, d)
	}
	if contexts != nil {
		b = append(b, make([]byte, (8-len(b)%8)%8)...)
		b = append(b, contexts...)
	}
	got, err := send(conn, b)
	if err != nil {
		return nil, err
	}
	return parseGreeting(got)
}

func parseGreeting(b []byte) (*greeting, error) {
	if len(b) < 128 || string(b[:4]) != "\xfeSMB" || le.Uint16(b[12:]) != 0 {
		return nil, errNoSMB2
	}
	g := &greeting{
		status: le.Uint32(b[8:]), command: le.Uint16(b[12:]), credits: le.Uint16(b[14:]), flags: le.Uint32(b[16:]),
		mode: le.Uint16(b[66:]), dialect: le.Uint16(b[68:]), contexts: le.Uint16(b[70:]), guid: bytes.Clone(b[72:88]),
		capabilities: le.Uint32(b[88:]), now: le.Uint64(b[104:]), started: le.Uint64(b[112:]),
	}
	at, n := int(le.Uint16(b[120:])), int(le.Uint16(b[122:]))
	if at+n <= len(b) {
		g.mechanisms = mechanisms(b[at : at+n])
	}
	return g, nil
}

// mechanisms are the names of the ways to log in, in the server's first token of SPNEGO.
func mechanisms(token []byte) []string {
	names := []string{}
	var outer, first, list asn1.RawValue
	var kind asn1.ObjectIdentifier
	if _, err := asn1.Unmarshal(token, &outer); err != nil {
		return names
	}
	rest, err := asn1.Unmarshal(outer.Bytes, &kind)
	if err != nil {
		return names
	}
	var body []byte
	for _, into := range []*asn1.RawValue{&first, &list} { // [0] { SEQUENCE { [0] { SEQUENCE OF names } } }
		if _, err := asn1.Unmarshal(rest, into); err != nil {
			return names
		}
		var sequence asn1.RawValue
		if _, err := asn1.Unmarshal(into.Bytes, &sequence); err != nil {
			return names
		}
		rest, body = sequence.Bytes, sequence.Bytes
	}
	for len(body) > 0 {
		var name asn1.ObjectIdentifier
		if body, err = asn1.Unmarshal(body, &name); err != nil {
			break
		}
		names = append(names, name.String())
	}
	return names
}

// setup is the answer to a login that has only begun: with the challenge of NTLM in it.
func setup(conn net.Conn) ([]byte, error) {
	hello := ntlm.Negotiate()
	token := append([]byte("\x60\x48\x06\x06\x2b\x06\x01\x05\x05\x02\xa0\x3e\x30\x3c\xa0\x0e\x30\x0c\x06\x0a"+
		"\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a\xa2\x2a\x04\x28"), hello...)
	b := append(header(1, 1), 25, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 88, 0)
	b = append(le.AppendUint16(b, uint16(len(token))), make([]byte, 8)...)
	return send(conn, append(b, token...))
}

// headerFields are those of a message, as nuclei shows them twice.
func headerFields(status uint32, command, credits uint16, flags uint32) host.Fields {
	f := host.Fields{
		{Name: "ProtocolID", Value: []byte("\xfeSMB")}, {Name: "Status", Value: status}, {Name: "Command", Value: command},
		{Name: "Credits", Value: credits}, {Name: "Flags", Value: flags},
	}
	return append(host.Fields{{Name: "HeaderLog", Value: f}}, f...)
}

// smbInfo is ConnectSMBInfoMode(host, port): what SMB 2 says, and whether SMB 1 is spoken too.
func smbInfo(h *host.Host, a *host.Args) (any, error) {
	log := map[string]any{
		"Version": goja.Null(), "Capabilities": goja.Null(), "HasNTLM": false, "NegotiationLog": goja.Null(),
		"SessionSetupLog": goja.Null(),
	}
	_, err := h.Ask(a, 0, func(conn net.Conn) (any, error) {
		g, err := greet(conn, plain, 0x0210)
		if err != nil {
			return nil, err
		}
		g.log(log)
		if log["HasNTLM"] == true {
			if b, err := setup(conn); err == nil {
				log["SessionSetupLog"] = setupLog(b)
			}
		}
		return nil, nil
	})
	if _, dialled := errors.AsType[*host.DialError](err); dialled {
		return nil, err
	}
	old, oldErr := h.Ask(a, 0, smb1)
	if err != nil && old != true {
		return nil, errors.Join(err, oldErr)
	}
	if err != nil {
		log["Version"] = version(1, 0, 0)
	}
	fields := host.Fields{{Name: "SupportV1", Value: old == true}, {Name: "Version", Value: log["Version"]}}
	for _, name := range []string{"NativeOs", "NTLM", "GroupName"} { // what only SMB 1 says, in a login
		fields = append(fields, host.Field{Name: name, Value: ""})
	}
	for _, name := range []string{"Capabilities", "HasNTLM", "NegotiationLog", "SessionSetupLog"} {
		fields = append(fields, host.Field{Name: name, Value: log[name]})
	}
	return fields, nil
}

func version(major, minor, revision uint16) host.Fields {
	text := fmt.Sprintf("SMB %d.%d", major, minor)
	if revision > 0 {
		text += fmt.Sprintf(".%d", revision)
	}
	return host.Fields{
		{Name: "Major", Value: major}, {Name: "Minor", Value: minor}, {Name: "Revision", Value: revision},
		{Name: "VerString", Value: text},
	}
}

// log adds what a greeting says.
func (g *greeting) log(log map[string]any) {
	// What the dialect does not have is not looked at.
	can := g.capabilities & map[uint16]uint32{0x0202: 1, 0x0210: 7, 0x0311: 0x3f}[g.dialect]
	log["Version"] = version(g.dialect>>8&15, g.dialect>>4&15, g.dialect&15)
	capabilities := host.Fields{}
	for i, name := range []string{
		"DFSSupport", "Leasing", "LargeMTU", "MultiChan", "Persist", "DirLeasing", "Encryption",
	} {
		capabilities = append(capabilities, host.Field{Name: name, Value: can&(1<<i) != 0})
	}
	log["Capabilities"] = capabilities
	log["HasNTLM"] = slices.Contains(g.mechanisms, "1.3.6.1.4.1.311.2.2.10")
	log["NegotiationLog"] = append(headerFields(g.status, g.command, g.credits, g.flags), host.Fields{
		{Name: "SecurityMode", Value: g.mode}, {Name: "DialectRevision", Value: g.dialect},
		{Name: "ServerGuid", Value: g.guid}, {Name: "Capabilities", Value: g.capabilities},
		{Name: "SystemTime", Value: seconds(g.now)},
		{Name: "ServerStartTime", Value: seconds(g.started)}, {Name: "AuthenticationTypes", Value: g.mechanisms},
	}...)
}

// seconds is a time of Windows, in 100 ns since 1601, as one of Unix.
func seconds(at uint64) uint32 { return uint32(at/1e7 - 11644473600) }

func setupLog(b []byte) any {
	c := ntlm.Parse(b)
	if len(b) < 72 || c == nil {
		return goja.Null()
	}
	return append(headerFields(le.Uint32(b[8:]), le.Uint16(b[12:]), le.Uint16(b[14:]), le.Uint32(b[16:])), host.Fields{
		{Name: "SetupFlags", Value: le.Uint16(b[66:])}, {Name: "TargetName", Value: c.Target},
		{Name: "NegotiateFlags", Value: c.Flags},
	}...)
}

// smb1 is whether the server takes the one dialect of SMB 1 that it is offered.
func smb1(conn net.Conn) (any, error) {
	b := append([]byte("\xffSMB\x72\x00\x00\x00\x00\x18\x01\x28"), make([]byte, 20)...)
	got, err := send(conn, append(b, "\x00\x0c\x00\x02NT LM 0.12\x00"...))
	if err != nil {
		return false, err
	}
	return len(got) >= 35 && string(got[:4]) == "\xffSMB" && got[4] == 0x72 && got[32] > 0 && le.Uint16(got[33:]) == 0, nil
}

// smbMetadata is ListSMBv2Metadata(host, port); null for a server without SMB 2.
func smbMetadata(conn net.Conn) (any, error) {
	g, err := greet(conn, plain, 0x0202)
	if errors.Is(err, errNoSMB2) {
		return goja.Null(), nil
	}
	if err != nil {
		return nil, err
	}
	c := &ntlm.Challenge{}
	if b, err := setup(conn); err == nil {
		if found := ntlm.Parse(b); found != nil {
			c = found
		}
	}
	return host.Fields{
		{Name: "SigningEnabled", Value: g.mode&1 != 0}, {Name: "SigningRequired", Value: g.mode&2 != 0},
		{Name: "OSVersion", Value: c.Version}, {Name: "NetBIOSComputerName", Value: c.Computer},
		{Name: "NetBIOSDomainName", Value: c.Domain}, {Name: "DNSComputerName", Value: c.DNSComputer},
		{Name: "DNSDomainName", Value: c.DNSDomain}, {Name: "ForestName", Value: c.Forest},
	}, nil
}
