package databases_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/databases"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/jstest"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// mariaDB is the address of a server with the user admin and the password toor.
func mariaDB(t *testing.T) string {
	install, binary := jstest.Tool(t, "mariadb-install-db"), jstest.Tool(t, "mariadbd")
	folder := jstest.Folder(t)
	start := filepath.Join(folder, "start.sql")
	if err := os.WriteFile(start, []byte("CREATE USER admin@'127.0.0.1' IDENTIFIED BY 'toor';\n"+
		"GRANT ALL ON *.* TO admin@'127.0.0.1';\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(folder, "data")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	making := exec.Command(install, "--no-defaults", "--datadir="+data, "--skip-test-db", "--auth-root-authentication-method=normal")
	making.SysProcAttr = jstest.Unprivileged(t, folder)
	making.Dir = folder
	if out, err := making.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	address, port := jstest.Port(t)
	server := exec.Command(binary, "--no-defaults", "--datadir="+data, "--bind-address=127.0.0.1", "--port="+port,
		"--socket="+filepath.Join(folder, "s"), "--pid-file="+filepath.Join(folder, "pid"), "--init-file="+start,
		"--skip-name-resolve", "--innodb-buffer-pool-size=16M", "--secure-file-priv=")
	server.SysProcAttr = jstest.Unprivileged(t, folder)
	server.Dir = folder
	jstest.Start(t, address, server)
	return address
}

func TestMariaDB(t *testing.T) {
	at := mariaDB(t)
	const client = "const c = new m.MySQLClient(); "
	for _, c := range []struct{ source, want string }{
		{"c.IsMySQL(H, P)", "true"},
		{"const f = c.FingerprintMySQL(H, P); [f.Protocol, f.Transport, f.TLS, f.Debug.PacketType, f.Raw, f.Version]",
			`mysql,tcp,false,handshake,{"packetType":"handshake","errorMsg":"","errorCode":0},5.5.5-`},
		{"c.Connect(H, P, 'admin', 'toor')", "true"},
		{"c.Connect(H, P, 'admin', 'wrong')", "error Error 1045"},
		{"JSON.stringify(c.ExecuteQuery(H, P, 'admin', 'toor', \"select 1 as a, 'x' as b, null as c, 1.5e0 as d\"))",
			`{"Count":1,"Columns":["a","b","c","d"],"Rows":[{"a":"1","b":"x","c":"","d":"1.5"}]}`},
		{"JSON.stringify(c.ExecuteQueryOnDB(H, P, 'admin', 'toor', 'mysql', 'select database() as d'))",
			`{"Count":1,"Columns":["d"],"Rows":[{"d":"mysql"}]}`},
		{"const o = new m.MySQLOptions(); o.Host = H; o.Port = P; o.Username = 'admin'; o.Password = 'toor'; " +
			"c.ExecuteQueryWithOpts(o, 'select 7 as n').Rows[0].n", "7"},
		{"c.ConnectWithDSN('admin:toor@tcp(' + H + ':' + P + ')/')", "true"},
		{"c.ConnectWithDSN('admin:toor@tcp(192.0.2.7:3306)/')", "error out of scope"},
		{"c.ConnectWithDSN('admin:toor@unix(/run/mysqld/mysqld.sock)/')", "error a socket of this machine is out of scope"},
		{"c.ExecuteQuery(H, P, 'admin', 'toor', \"load data local infile '/etc/passwd' into table mysql.user\")", "error "},
		{"c.ExecuteQuery(H, P, 'admin', 'toor', 'select nonsense').Rows", "error Error 1054"},
		{"c.ExecuteQuery(H, P, 'admin', 'toor', 'select seq from mysql.seq_1_to_60000')", "error the answer has too many rows"},
		{"c.ExecuteQuery(H, P, 'admin', 'toor', 'set @x = 1').Count", "0"},
		{"c.ExecuteQuery(H, P, 'admin', 'toor', \"select 'first', repeat('x', 100000) as long_\").Rows[0].long_.length", "100000"},
		{"c.ExecuteQuery(H, P, 'admin', 'toor', \"select repeat('x', 100000)\").Count", "error the server says that it sends too much"},
	} {
		jstest.Check{Module: databases.MySQL, Address: at, Source: client + c.source, Want: c.want}.Run(t)
	}
}

// packet is one of MySQL.
func packet(sequence byte, body string) string {
	return string([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), sequence}) + body
}

const hello = "\x0a8.0.0\x00" + "\x01\x00\x00\x00" + "12345678\x00" + "\xff\xf7" + "\x08" + "\x02\x00" + "\xff\x81" + "\x15" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "123456789012\x00" + "mysql_native_password\x00"

const ok = "\x00\x00\x00\x02\x00\x00\x00"

// Servers that lie end in an error, without the memory or the time that they ask for.
func TestHostileDatabases(t *testing.T) {
	greeting := packet(0, hello)
	sql := "c.ExecuteQuery(H, P, 'u', 'p', 'select 1').Count"
	mysql, postgres := "const c = new m.MySQLClient(); ", "const c = new m.PGClient(); "
	for name, c := range map[string]struct {
		Module                jstest.Module
		Address, Source, Want string
	}{
		"columns":      {databases.MySQL, jstest.Answer(t, greeting, packet(2, ok), packet(1, "\xfe\xff\xff\xff\xff\x00\x00\x00\x00")), mysql + sql, "error the server says"},
		"long packet":  {databases.MySQL, jstest.Answer(t, greeting, packet(2, ok), "\xff\xff\xff\x01\x05"), mysql + sql, "error the server says"},
		"no greeting":  {databases.MySQL, jstest.Answer(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), mysql + sql, "error not a mysql service"},
		"an error":     {databases.MySQL, jstest.Answer(t, packet(0, "\xff\x6a\x04Host is blocked")), mysql + "c.FingerprintMySQL(H, P).Debug.ErrorMessage", "Host is blocked"},
		"nonsense":     {databases.MySQL, jstest.Answer(t, greeting, packet(2, "\xfe"), packet(4, "\x01")), mysql + sql, "error "},
		"body":         {databases.Postgres, jstest.Answer(t, "", "R\x3f\xff\xff\xff\x00\x00\x00\x00"), postgres + "c.ExecuteQuery(H, P, 'u', 'p', 'd', 'select 1')", "error "},
		"no database":  {databases.Postgres, jstest.Answer(t, "", "HTTP/1.1 400"), postgres + "c.Connect(H, P, 'u', 'p')", "error not a postgres service"},
		"tds":          {databases.MSSQL, jstest.Answer(t, "", "\x04\x01\x00\x1a\x00\x00\x01\x00\x00\x00\x0b\x00\x06\x01\x00\x11\x00\x01\xff\x0f\x00\x07\xd0\x00\x00\x02"), "m.MSSQLClient().IsMssql(H, P)", "true"},
		"no tds":       {databases.MSSQL, jstest.Answer(t, "", "\x04\x01\x00\x0e\x00\x00\x01\x00\x00\xff\xff\x00\x06\x00"), "m.MSSQLClient().IsMssql(H, P)", "false"},
		"silent":       {databases.MySQL, jstest.Answer(t), mysql + sql, "error read tcp"},
		"silent too":   {databases.Postgres, jstest.Answer(t), postgres + "c.Connect(H, P, 'u', 'p')", "error not a postgres service"},
		"no such port": {databases.Postgres, "127.0.0.1:1", postgres + "c.Connect(H, P, 'u', 'p')", "error dial tcp"},
		"not in scope": {databases.Postgres, "127.0.0.1:1", postgres + "c.ExecuteQuery('192.0.2.1', P, 'u', 'p', 'd', 'q')", "error out of scope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := jstest.Check(c).Result(t, 500*time.Millisecond); !strings.HasPrefix(got, c.Want) {
				t.Errorf("%.300s, want %s", got, c.Want)
			}
		})
	}
}

func TestPostgreSQL(t *testing.T) {
	source, err := url.Parse(dbtest.URL(t, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := source.User.Password()
	at, database := source.Host, strings.TrimPrefix(source.Path, "/")
	if name, _, _ := net.SplitHostPort(at); net.ParseIP(name) == nil {
		t.Skipf("the PostgreSQL for tests is not at an address: %s", at)
	}
	client := fmt.Sprintf("const c = new m.PGClient(), U = %q, W = %q, D = %q; ", source.User.Username(), password, database)
	for _, c := range []struct{ source, want string }{
		{"c.IsPostgres(H, P)", "true"},
		{"c.Connect(H, P, U, W)", "true"},
		{"c.ConnectWithDB(H, P, U, W, D)", "true"},
		{"c.ConnectWithDB(H, P, U, W, 'nowhere')", "false"},
		{"JSON.stringify(c.ExecuteQuery(H, P, U, W, D, \"select 1 as n, true as b, null::text as x, 'é' as t, 2.5::float8 as f, " +
			"'\\\\x4142'::bytea as raw, '2020-01-02 03:04:05'::timestamp as at\"))",
			`{"Count":1,"Columns":["n","b","x","t","f","raw","at"],` +
				`"Rows":[{"at":"2020-01-02T03:04:05Z","b":true,"f":"2.5","n":1,"raw":"AB","t":"é","x":""}]}`},
		{"c.ExecuteQuery(H, P, U, W, D, 'select nonsense')", "error ERROR: column"},
		{"c.ExecuteQuery(H, P, U, W, 'nowhere', 'select 1')", "error failed to connect"},
	} {
		jstest.Check{Module: databases.Postgres, Address: at, Source: client + c.source, Want: c.want}.Run(t)
	}
}
