// Package sshkeys serves the area SSH Keys of the agent-task API.
package sshkeys

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/sshkey"
)

// Request is the body of POST /api/v1/ssh-keys.
type Request struct {
	Name       string `json:"name" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]*$" doc:"The name by which tasks use it."`
	Algorithm  string `json:"algorithm,omitempty" enum:"ed25519,rsa-2048,rsa-4096,ecdsa-256,ecdsa-384,ecdsa-521" doc:"Generate a key of this kind. Send exactly one of algorithm, password and private_key."`
	Password   string `json:"password,omitempty" maxLength:"1000" doc:"Store a password. It is sent to default_host only."`
	PrivateKey string `json:"private_key,omitempty" maxLength:"65536" doc:"Import a private key, as PEM."`
	Passphrase string `json:"private_key_passphrase,omitempty" maxLength:"1000" doc:"Of an encrypted private_key; it is not stored."`
	Host       string `json:"default_host,omitempty" maxLength:"255" doc:"The host that a task connects to when it names none."`
	Port       int    `json:"default_port,omitempty" minimum:"1" maximum:"65535" default:"22" doc:"The port of default_host."`
	Username   string `json:"default_username,omitempty" maxLength:"128" doc:"The user as whom it signs in."`
	ProjectID  string `json:"project_id,omitempty" format:"uuid"`
}

// Patch is the body of PATCH /api/v1/ssh-keys/{ssh_key_id}.
type Patch struct {
	Name     *string `json:"name,omitempty" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]*$"`
	Host     *string `json:"default_host,omitempty" maxLength:"255" doc:"An empty text clears it."`
	Port     *int    `json:"default_port,omitempty" minimum:"1" maximum:"65535" doc:"The port of default_host."`
	Username *string `json:"default_username,omitempty" maxLength:"128" doc:"An empty text clears it."`
	Password *string `json:"password,omitempty" minLength:"1" maxLength:"1000" doc:"Replaces the password; only of a key that is one."`
}

// List is the caller's keys.
type List struct {
	Keys  []sshkey.Key `json:"ssh_keys" doc:"By name."`
	Total int          `json:"total"`
}

// Hosts are the hosts whose keys are pinned.
type Hosts struct {
	Hosts []sshkey.Host `json:"hosts" doc:"By address, at most 1000."`
	Total int           `json:"total"`
}

// Area is the area with the service that it calls.
type Area struct {
	*rest.API
	Keys *sshkey.Keys
}

// Path names a key. huma reads embedded fields of exported types only.
type Path struct {
	ID string `path:"ssh_key_id" doc:"The key's id."`
}

func answer(k sshkey.Key, err error) (*sshkey.Key, error) { return &k, err }

// Register adds the area's operations.
func (a Area) Register() {
	const path, tag = "/api/v1/ssh-keys", "SSH Keys"
	one := path + "/{ssh_key_id}"
	create := rest.NewOp("create-ssh-key", "POST "+path, tag, "Generate an SSH key, or store one or a password", 409)
	create.DefaultStatus = http.StatusCreated
	create.Description = "Your tasks use it in the tool ssh, on hosts in their scope. The private key and the password are stored encrypted, and no " +
		"answer, prompt or log has them."
	rest.Handle(a.API, create, func(ctx context.Context, in *struct{ Body Request }) (*sshkey.Key, error) {
		in.Body.ProjectID = strings.ToLower(in.Body.ProjectID)
		return answer(a.Keys.Create(ctx, sshkey.NewKey(in.Body)))
	})
	rest.Handle(a.API, rest.NewOp("list-ssh-keys", "GET "+path, tag, "List your SSH keys, or those of a project"),
		func(ctx context.Context, in *struct {
			ProjectID string `query:"project_id" format:"uuid" doc:"Those of this project; all of yours when absent."`
		}) (*List, error) {
			found, err := a.Keys.FindAll(ctx, strings.ToLower(in.ProjectID))
			return &List{found, len(found)}, err
		})
	rest.Handle(
		a.API,
		rest.NewOp("get-ssh-key", "GET "+one, tag, "Get an SSH key: its public key, and what it is for", 404),
		func(ctx context.Context, in *Path) (*sshkey.Key, error) { return answer(a.Keys.Find(ctx, in.ID)) },
	)
	rest.Handle(
		a.API,
		rest.NewOp("update-ssh-key", "PATCH "+one, tag, "Change what an SSH key is for, or a password", 404, 409),
		func(ctx context.Context, in *struct {
			Path
			Body Patch
		}) (*sshkey.Key, error) {
			return answer(a.Keys.Update(ctx, in.ID, sshkey.Update(in.Body)))
		},
	)
	signin.Act(
		a.API,
		rest.NewOp("delete-ssh-key", "DELETE "+one, tag, "Delete an SSH key", 404),
		"The SSH key is deleted.",
		func(ctx context.Context, in *Path) error { return a.Keys.Delete(ctx, in.ID) },
	)

	hosts := rest.NewOp("list-ssh-hosts", "GET /api/v1/ssh-hosts", tag, "List the hosts whose keys your team has pinned")
	hosts.Description = "The key of a host is pinned when a task first connects to it. A host that shows another one later is refused, before " +
		"anything is sent to it."
	rest.Handle(a.API, hosts, func(ctx context.Context, _ *struct{}) (*Hosts, error) {
		found, err := a.Keys.Hosts(ctx)
		return &Hosts{found, len(found)}, err
	})
	signin.Act(a.API, rest.NewOp("forget-ssh-host", "DELETE /api/v1/ssh-hosts/{ssh_host_id}", tag,
		"Forget the key of a host, so that the next connection pins the one that it has then (team admins only)", 404),
		"The key of the host is forgotten.", func(ctx context.Context, in *struct {
			ID string `path:"ssh_host_id" doc:"The host's id."`
		}) error {
			return a.Keys.Forget(ctx, in.ID)
		})
}

// Words name and describe the area's types in the contract.
func Words() rest.Vocabulary {
	return rest.Vocabulary{
		Names: map[reflect.Type]string{
			reflect.TypeFor[Request]():     "SSHKeyRequest",
			reflect.TypeFor[Patch]():       "SSHKeyPatch",
			reflect.TypeFor[List]():        "SSHKeyList",
			reflect.TypeFor[Hosts]():       "SSHHostList",
			reflect.TypeFor[sshkey.Key]():  "SSHKey",
			reflect.TypeFor[sshkey.Host](): "SSHHost",
		},
		Words: map[string]string{},
	}
}
