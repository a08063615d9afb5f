package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"gopkg.in/ini.v1"
)

var (
	errNoCredentials = errors.New("get credentials for the S3 store")
	errNoneSet       = errors.New("a library on S3 needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment")
)

// chain asks its sources in their order, and keeps what it got until shortly before it expires. In
// contrast to that of minio-go it never ends in requests that are not signed.
type chain struct {
	sources []credentials.Provider
	expiry  credentials.Expiry
	lasting bool // what it got does not expire
}

// RetrieveWithCredContext gives what the first source has that has anything, or the first error.
func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	var first error
	for _, source := range c.sources {
		value, err := source.RetrieveWithCredContext(cc)
		if err == nil && value.AccessKeyID != "" && value.SecretAccessKey != "" {
			c.lasting = value.Expiration.IsZero()
			c.expiry.SetExpiration(value.Expiration, credentials.DefaultExpiryWindow)
			return value, nil
		}
		if err == nil {
			err = errNoneSet
		}
		var told credentials.ErrorResponse
		if errors.As(err, &told) { // its own words may repeat the token
			err = fmt.Errorf("the token service answers with %s", word(told.STSError.Code))
		}
		if first == nil {
			first = err
		}
	}
	return credentials.Value{}, fmt.Errorf("%w: %w", errNoCredentials, first)
}

// Retrieve is not called by anybody.
func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

// IsExpired tells whether the credentials have to be got again.
func (c *chain) IsExpired() bool { return !c.lasting && c.expiry.IsExpired() }

// broken is a source that is set and cannot be used.
type broken struct {
	credentials.Static
	err error
}

// RetrieveWithCredContext says why.
func (b *broken) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return credentials.Value{}, b.err
}

// credentialsFrom finds where credentials come from: variables, a profile, a web identity token,
// a container. If nothing of that is set, it asks the metadata service of the machine, which
// has to answer at once.
func credentialsFrom(ctx context.Context, region string, getenv func(string) (string, bool)) (*credentials.Credentials, error) {
	env := func(name string) string {
		value, _ := getenv(name)
		return value
	}
	c := &chain{}
	for _, source := range []credentials.Provider{fromVariables(env), fromProfile(env, region), fromToken(env, region), fromContainer(env)} {
		if source != nil {
			c.sources = append(c.sources, source)
		}
	}
	usable := false
	for _, source := range c.sources {
		_, bad := source.(*broken)
		usable = usable || !bad
	}
	switch {
	case usable:
		return credentials.New(c), nil
	case len(c.sources) > 0:
		return nil, c.sources[0].(*broken).err
	case strings.EqualFold(env("AWS_EC2_METADATA_DISABLED"), "true"):
		return nil, errNoneSet
	}
	c.sources = append(c.sources, &credentials.IAM{Client: nearby(time.Second), Endpoint: strings.TrimRight(env("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "/")})
	found := credentials.New(c)
	_, err := found.GetWithContext(&credentials.CredContext{Context: ctx})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, errNoneSet
	}
	return found, nil
}

// nearby is a client for services of this machine, which no proxy leads to.
func nearby(patience time.Duration) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
}

func fromVariables(env func(string) string) credentials.Provider {
	value := credentials.Value{
		AccessKeyID: env("AWS_ACCESS_KEY_ID"), SecretAccessKey: env("AWS_SECRET_ACCESS_KEY"), SessionToken: env("AWS_SESSION_TOKEN"),
		SignerType: credentials.SignatureV4,
	}
	switch {
	case value.AccessKeyID == "" && value.SecretAccessKey == "":
		return nil
	case value.AccessKeyID == "" || value.SecretAccessKey == "":
		return &broken{err: errNoneSet}
	}
	return &credentials.Static{Value: value}
}

// profile is one of the files that the tools of Amazon share.
type profile struct {
	name string
	file *ini.File
}

// key gives what the profile has under a name. The two files call its section differently.
func (p profile) key(name string) string {
	for _, section := range []string{p.name, "profile " + p.name} {
		if value := p.file.Section(section).Key(name).String(); value != "" {
			return value
		}
	}
	return ""
}

// fromProfile reads the profile that AWS_PROFILE names, or the default one if it has any
// credentials.
func fromProfile(env func(string) string, region string) credentials.Provider {
	p := profile{name: env("AWS_PROFILE")}
	named := p.name != ""
	if !named {
		p.name = "default"
	}
	var files []any
	for _, f := range [][2]string{{"AWS_CONFIG_FILE", "config"}, {"AWS_SHARED_CREDENTIALS_FILE", "credentials"}} {
		path := env(f[0])
		if home := cmp.Or(env("HOME"), env("USERPROFILE")); path == "" && home != "" {
			path = filepath.Join(home, ".aws", f[1])
		}
		if path != "" {
			files = append(files, path)
		}
	}
	var err error
	if p.file, err = ini.LooseLoad([]byte{}, files...); err != nil {
		return &broken{err: fmt.Errorf("read the profiles in AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE: %w", err)}
	}
	source := p.source(env, region)
	if source == nil && named {
		return &broken{err: fmt.Errorf("AWS_PROFILE names %.100q, and neither ~/.aws/credentials nor ~/.aws/config has credentials for it", p.name)}
	}
	return source
}

// source gives where the profile says that credentials are; nil if it says nothing of them.
func (p profile) source(env func(string) string, region string) credentials.Provider {
	has := func(name string) bool { return p.key(name) != "" }
	refuse := func(what string) credentials.Provider {
		return &broken{err: fmt.Errorf("profile %.100q for the S3 store: %s", p.name, what)}
	}
	switch {
	case has("role_arn") && (has("credential_source") || has("web_identity_token_file") || has("mfa_serial")):
		return refuse("a role is assumed with source_profile alone; set AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE, or name a credential_process")
	case has("role_arn"):
		return &assumed{source: &credentials.FileAWSCredentials{Profile: p.key("source_profile")}, role: credentials.STSAssumeRole{
			STSEndpoint: tokenService(env, region),
			Options: credentials.STSAssumeRoleOptions{
				RoleARN: p.key("role_arn"), ExternalID: p.key("external_id"), Location: region,
				RoleSessionName: cmp.Or(p.key("role_session_name"), env("AWS_ROLE_SESSION_NAME"), "remit"),
			},
		}}
	case has("aws_access_key_id") != has("aws_secret_access_key"):
		return refuse("aws_access_key_id and aws_secret_access_key belong together")
	case has("aws_access_key_id"), has("sso_role_name"):
		return &credentials.FileAWSCredentials{Profile: p.name}
	case has("credential_process") && len(strings.Fields(p.key("credential_process"))) < 2:
		return refuse("credential_process has to name a program and an argument")
	case has("credential_process"):
		return &credentials.FileAWSCredentials{Profile: p.name}
	}
	return nil
}

// assumed is a role that the credentials of another profile may take on.
type assumed struct {
	source credentials.Provider
	role   credentials.STSAssumeRole
}

// RetrieveWithCredContext asks the token service.
func (a *assumed) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	value, err := a.source.RetrieveWithCredContext(cc)
	if err != nil {
		return value, fmt.Errorf("read source_profile: %w", err)
	}
	a.role.Options.AccessKey, a.role.Options.SecretKey, a.role.Options.SessionToken = value.AccessKeyID, value.SecretAccessKey, value.SessionToken
	return a.role.RetrieveWithCredContext(cc)
}

// Retrieve is not called by anybody.
func (a *assumed) Retrieve() (credentials.Value, error) { return a.RetrieveWithCredContext(nil) }

// IsExpired is not called by anybody: the chain knows.
func (a *assumed) IsExpired() bool { return a.role.IsExpired() }

// tokenService is where tokens are exchanged for credentials.
func tokenService(env func(string) string, region string) string {
	suffix := ""
	if strings.HasPrefix(region, "cn-") {
		suffix = ".cn"
	}
	return cmp.Or(env("AWS_ENDPOINT_URL_STS"), "https://sts."+region+".amazonaws.com"+suffix)
}

// fromToken exchanges the token in a file, which is read each time: somebody renews it.
func fromToken(env func(string) string, region string) credentials.Provider {
	file := env("AWS_WEB_IDENTITY_TOKEN_FILE")
	if file == "" {
		return nil
	}
	return &credentials.STSWebIdentity{
		STSEndpoint: tokenService(env, region), RoleARN: env("AWS_ROLE_ARN"),
		GetWebIDTokenExpiry: func() (*credentials.WebIdentityToken, error) {
			token, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read AWS_WEB_IDENTITY_TOKEN_FILE: %w", err)
			}
			return &credentials.WebIdentityToken{Token: strings.TrimSpace(string(token))}, nil
		},
	}
}

// fromContainer asks the service that a container has beside it. minio-go reads the rest of the
// variables itself.
func fromContainer(env func(string) string) credentials.Provider {
	if env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") == "" && env("AWS_CONTAINER_CREDENTIALS_FULL_URI") == "" {
		return nil
	}
	return &credentials.IAM{Client: nearby(5 * time.Second)}
}
