package functions

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/RumbleDiscovery/jarm-go"
)

const (
	jarmTimeout = 10 * time.Second // of one probe
	jarmBytes   = 1484             // of a response that are looked at
	jarmNothing = "|||"            // what a probe without a response gives
)

// jarmOf is the JARM fingerprint of a TLS server; 62 zeros when it answers no probe.
func jarmOf(env *Env, args []any) (any, error) {
	if env.Host == nil || env.Host.Dial == nil {
		return nil, errNoHost
	}
	address := String(args[0])
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	var answers []string
	for _, probe := range jarm.GetProbes(host, int(port)) {
		answers = append(answers, env.Host.probe(env.context(), address, probe))
		if err := env.context().Err(); err != nil {
			return nil, err
		}
	}
	return jarm.RawHashToFuzzyHash(strings.Join(answers, ",")), nil
}

// probe sends one ClientHello and parses the response.
func (h *Host) probe(ctx context.Context, address string, probe jarm.JarmProbeOptions) string {
	ctx, cancel := context.WithTimeout(ctx, jarmTimeout)
	defer cancel()
	conn, err := h.Dial(ctx, "tcp", address)
	if err != nil {
		return jarmNothing
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(jarm.BuildProbe(probe)); err != nil {
		return jarmNothing
	}
	b := make([]byte, jarmBytes)
	n, err := conn.Read(b)
	if err != nil && n == 0 {
		return jarmNothing
	}
	answer, err := jarm.ParseServerHello(b[:n], probe)
	if err != nil {
		return jarmNothing
	}
	return answer
}
