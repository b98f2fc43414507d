package windows_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/jstest"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/windows"
)

// samba is the address of a server that is called LAB in the group WORK, has two shares and the user daemon, whose
// password is secret.
func samba(t *testing.T, oldest, signing string) string {
	binary := jstest.Tool(t, "smbd")
	folder := jstest.Folder(t)
	at, port := jstest.Port(t)
	conf := filepath.Join(folder, "conf")
	text := fmt.Sprintf("[global]\nnetbios name = LAB\nworkgroup = WORK\nserver min protocol = %s\nsmb ports = %s\n"+
		"interfaces = 127.0.0.1\nbind interfaces only = yes\ndisable spoolss = yes\nload printers = no\n"+
		"passdb backend = tdbsam\nserver signing = %s\n", oldest, port, signing)
	for _, name := range []string{"lock directory", "state directory", "cache directory", "private dir", "pid directory", "ncalrpc dir"} {
		path := filepath.Join(folder, strings.ReplaceAll(name, " ", ""))
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		text += name + " = " + path + "\n"
	}
	text += "[public]\npath = " + folder + "\n[hidden$]\npath = " + folder + "\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	add := exec.Command(jstest.Tool(t, "pdbedit"), "--configfile="+conf, "-a", "-u", "daemon", "-t")
	add.Stdin = strings.NewReader("secret\nsecret\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { // what answers remote calls outlives the server that started it
		text, _ := os.ReadFile(filepath.Join(folder, "piddirectory", "samba-dcerpcd.pid"))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended
		}
	})
	jstest.Start(t, at, exec.Command(binary, "--foreground", "--no-process-group", "--debug-stdout", "--configfile="+conf))
	return at
}

func TestSamba(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("smbd wants to be root")
	}
	today, old, signed := samba(t, "SMB2_02", "default"), samba(t, "NT1", "default"), samba(t, "SMB2_02", "mandatory")
	for _, c := range []struct{ at, source, want string }{
		{today, "const r = c.ConnectSMBInfoMode(H, P); [r.SupportV1, r.Version.VerString, r.HasNTLM, r.NativeOs, " +
			"r.SessionSetupLog.TargetName, r.NegotiationLog.DialectRevision, r.NegotiationLog.HeaderLog.Status, r.Capabilities.DFSSupport]",
			"false,SMB 2.1,true,,LAB,528,0,true"},
		{today, "const at = c.ConnectSMBInfoMode(H, P).NegotiationLog.SystemTime * 1000; Math.abs(Date.now() - at) < 3600000", "true"},
		{old, "c.ConnectSMBInfoMode(H, P).SupportV1", "true"},
		{today, "const r = c.ListSMBv2Metadata(H, P); [r.SigningEnabled, r.SigningRequired, r.OSVersion, r.NetBIOSComputerName, r.NetBIOSDomainName]",
			"true,false,6.1.0,LAB,"},
		{today, "c.DetectSMBGhost(H, P)", "false"},
		{today, "c.ListShares(H, P, '', '').join()", "public,hidden$,IPC$"},
		{today, "c.ListShares(H, P, 'nobody', 'wrong').length", "error the user or the password is wrong (0xc000006d)"},
		{signed, "c.ListShares(H, P, 'daemon', 'secret').join()", "public,hidden$,IPC$"},
		{signed, "c.ListShares(H, P, 'daemon', 'wrong').length", "error the user or the password is wrong (0xc000006d)"},
	} {
		jstest.Check{Module: windows.SMB, Address: c.at, Source: "const c = new m.SMBClient(); " + c.source, Want: c.want}.Run(t)
	}
}

func TestRDP(t *testing.T) {
	server := jstest.Answer(t, "", "\x03\x00\x00\x13\x0e\xd0\x00\x00\x12\x34\x00\x02\x1f\x08\x00\x08\x00\x00\x00")
	other := jstest.Answer(t, "", "HTTP/1.1 400 Bad Request\r\n")
	for _, c := range []struct{ at, source, want string }{
		{server, "JSON.stringify(m.IsRDP(H, P))", `{"IsRDP":true,"OS":"Windows Server 2016 or 2019"}`},
		{other, "JSON.stringify(m.IsRDP(H, P))", `{"IsRDP":false,"OS":""}`},
		{other, "JSON.stringify(m.CheckRDPAuth(H, P))", `{"PluginInfo":null,"Auth":false}`},
		{server, "try { m.CheckRDPEncryption(H, P) } catch (e) {} 1", "error rdp.CheckRDPEncryption is not supported"},
	} {
		jstest.Check{Module: windows.RDP, Address: c.at, Source: c.source, Want: c.want}.Run(t)
	}
}

func TestHostileSMB(t *testing.T) {
	for name, answer := range map[string]string{
		"long": "\x00\xff\xff\xff\xfeSMB", "short": "\x00\x00\x00\x04\xfeSMB", "other": "HTTP/1.1 400 Bad\r\n",
		"offsets": "\x00\x00\x00\x80\xfeSMB" + strings.Repeat("\x00", 66) + strings.Repeat("\xff", 58),
	} {
		at := jstest.Answer(t, "", answer)
		got := jstest.Check{Module: windows.SMB, Address: at, Source: "m.SMBClient().ConnectSMBInfoMode(H, P).Version"}.Result(t, 1e9)
		if !strings.HasPrefix(got, "error ") && name != "offsets" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
