package windows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// The exchanges of RFC 4120, with the library's messages and connections of the scope: the library's own client dials
// by itself. A key is derived from a password as often as the server says, so that number is bounded here.

const (
	maxReply      = 1 << 20 // bytes of an answer
	maxIterations = 1 << 16 // of a derivation of a key; 4,096 are usual
)

// principal is a name as a client writes it: parts between slashes.
func principal(name string) types.PrincipalName {
	return types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, name)
}

// ask sends a message to the first controller that answers, by TCP and then by UDP. A refusal is a messages.KRBError.
func (d *domain) ask(h *host.Host, message []byte) ([]byte, error) {
	var first error
	for _, network := range []string{"tcp", "udp"} {
		for _, controller := range d.controllers {
			got, err := d.askOne(h, network, controller, message)
			if err == nil {
				var refused messages.KRBError
				if refused.Unmarshal(got) == nil {
					return got, refused
				}
				return got, nil
			}
			if first == nil {
				first = err
			}
		}
	}
	return nil, first
}

func (d *domain) askOne(h *host.Host, network, controller string, message []byte) ([]byte, error) {
	name, port, err := net.SplitHostPort(controller)
	if err != nil {
		return nil, err
	}
	if d.ip != "" {
		name = d.ip
	}
	conn, err := h.Dial(network, host.Address(name, port))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	wait := h.Timeout
	if d.timeout > 0 {
		wait = min(wait, d.timeout)
	}
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	if network == "udp" {
		if _, err := conn.Write(message); err != nil {
			return nil, err
		}
		b := make([]byte, 64<<10)
		n, err := conn.Read(b)
		return b[:n], err
	}
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)); err != nil {
		return nil, err
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(conn, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n == 0 || n > maxReply {
		return nil, errors.New("the answer is not one of Kerberos")
	}
	b := make([]byte, n)
	_, err = io.ReadFull(conn, b)
	return b, err
}

// serviceTicket logs in and asks for a ticket of a service.
func (d *domain) serviceTicket(h *host.Host, user, password, service string) (*messages.Ticket, error) {
	login, err := d.login(h, user, password)
	if err != nil {
		return nil, err
	}
	session := login.DecryptedEncPart.Key
	from, to := principal(user), principal(service)
	request, err := messages.NewTGSReq(from, d.realm, d.config, login.Ticket, session, to, false)
	if err != nil {
		return nil, err
	}
	b, err := request.Marshal()
	if err != nil {
		return nil, err
	}
	got, err := d.ask(h, b)
	if err != nil {
		return nil, err
	}
	var reply messages.TGSRep
	if err := reply.Unmarshal(got); err != nil {
		return nil, err
	}
	if err := reply.DecryptEncPart(session); err != nil {
		return nil, err
	}
	if _, err := reply.Verify(d.config, request); err != nil {
		return nil, err
	}
	if !reply.Ticket.SName.Equal(request.ReqBody.SName) {
		return nil, fmt.Errorf("the service is in another domain: %.100s", reply.Ticket.SName.PrincipalNameString())
	}
	return &reply.Ticket, nil
}

// askTGT asks for the first ticket of a user, without a password.
func (d *domain) askTGT(h *host.Host, user string) (request messages.ASReq, reply []byte, err error) {
	if request, err = messages.NewASReqForTGT(d.realm, d.config, principal(user)); err != nil {
		return request, nil, err
	}
	b, err := request.Marshal()
	if err != nil {
		return request, nil, err
	}
	reply, err = d.ask(h, b)
	return request, reply, err
}

// login is the first ticket of a user. A server that wants to see the password first says how its key is derived.
func (d *domain) login(h *host.Host, user, password string) (*messages.ASRep, error) {
	request, got, err := d.askTGT(h, user)
	refused, ok := errors.AsType[messages.KRBError](err)
	if ok && refused.ErrorCode == errorcode.KDC_ERR_PREAUTH_REQUIRED {
		b, err := d.proven(&request, password, refused.EData)
		if err != nil {
			return nil, err
		}
		if got, err = d.ask(h, b); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	var reply messages.ASRep
	if err := reply.Unmarshal(got); err != nil {
		return nil, err
	}
	if err := boundedDerivation(reply.PAData); err != nil {
		return nil, err
	}
	_, err = reply.Verify(d.config, credentials.New(user, d.realm).WithPassword(password), request)
	return &reply, err
}

// proven adds to a request the time, encrypted with the key of the password.
func (d *domain) proven(request *messages.ASReq, password string, said []byte) ([]byte, error) {
	var hints types.PADataSequence
	if err := hints.Unmarshal(said); err != nil {
		return nil, err
	}
	if err := boundedDerivation(hints); err != nil {
		return nil, err
	}
	kind, err := hintedType(hints)
	if err != nil {
		return nil, err
	}
	key, _, err := crypto.GetKeyFromPassword(password, request.ReqBody.CName, d.realm, kind, hints)
	if err != nil {
		return nil, err
	}
	now, err := types.GetPAEncTSEncAsnMarshalled()
	if err != nil {
		return nil, err
	}
	sealed, err := crypto.GetEncryptedData(now, key, keyusage.AS_REQ_PA_ENC_TIMESTAMP, 0)
	if err != nil {
		return nil, err
	}
	value, err := sealed.Marshal()
	if err != nil {
		return nil, err
	}
	request.PAData = append(request.PAData, types.PAData{PADataType: patype.PA_ENC_TIMESTAMP, PADataValue: value})
	return request.Marshal()
}

// hintedType is the kind of encryption that a server wants: its first hint of the newer form, or of the older one.
func hintedType(hints types.PADataSequence) (int32, error) {
	var kind int32
	for _, hint := range hints {
		switch hint.PADataType {
		case patype.PA_ETYPE_INFO2:
			if info, err := hint.GetETypeInfo2(); err == nil && len(info) > 0 {
				return info[0].EType, nil
			}
		case patype.PA_ETYPE_INFO:
			if info, err := hint.GetETypeInfo(); err == nil && len(info) > 0 {
				kind = info[0].EType
			}
		}
	}
	if kind == 0 {
		return 0, errors.New("the server does not say which encryption it wants")
	}
	return kind, nil
}

// boundedDerivation is an error where a key would take too many iterations; 0 means 2^32.
func boundedDerivation(hints types.PADataSequence) error {
	for _, hint := range hints {
		if hint.PADataType != patype.PA_ETYPE_INFO2 {
			continue
		}
		info, err := hint.GetETypeInfo2()
		if err != nil {
			return err
		}
		for _, entry := range info {
			if len(entry.S2KParams) != 4 {
				continue
			}
			if n := binary.BigEndian.Uint32(entry.S2KParams); n == 0 || n > maxIterations {
				return fmt.Errorf("the server wants %d iterations for a key", n)
			}
		}
	}
	return nil
}
