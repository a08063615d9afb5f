package blob

import (
	"cmp"
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

var errNoneSet = errors.New("a library on S3 needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment")

// credentialsError says why there are no credentials.
type credentialsError struct{ error }

// chain asks its sources in their order, and keeps what it got until shortly before it expires. In
// contrast to that of minio-go it never ends in requests that are not signed.
type chain struct {
	sources []credentials.Provider
	expiry  credentials.Expiry
	lasting bool // what it got does not expire
}

// RetrieveWithCredContext gives what the first source has that has anything, or the first error.
func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	first := errNoneSet
	for _, source := range c.sources {
		value, err := source.RetrieveWithCredContext(cc)
		if err == nil && value.AccessKeyID != "" && value.SecretAccessKey != "" {
			c.lasting = value.Expiration.IsZero()
			c.expiry.SetExpiration(value.Expiration, credentials.DefaultExpiryWindow)
			return value, nil
		}
		if told, ok := errors.AsType[credentials.ErrorResponse](err); ok { // its own words may repeat the token
			err = fmt.Errorf("the token service answers with %s", word(told.STSError.Code))
		}
		if _, machine := source.(*machine); err != nil && !machine && errors.Is(first, errNoneSet) {
			first = err
		}
	}
	if !errors.Is(first, errNoneSet) {
		first = fmt.Errorf("get credentials for the S3 store: %w", first)
	}
	return credentials.Value{}, &credentialsError{first}
}

// Retrieve is there for the interface.
func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

// IsExpired tells whether the credentials have to be got again.
func (c *chain) IsExpired() bool { return !c.lasting && c.expiry.IsExpired() }

// machine is the metadata service of a machine at Amazon. That it does not answer says nothing.
type machine struct{ credentials.IAM }

// credentialsFrom finds where credentials come from: variables, a profile, a web identity token, a
// container; the machine, if nothing of that is set. remote says that a service has them which
// need not answer yet.
func credentialsFrom(env func(string) string, region string) (c *chain, remote bool) {
	c = &chain{}
	add := func(source credentials.Provider, set bool) {
		if set {
			c.sources = append(c.sources, source)
		}
	}
	value := credentials.Value{
		AccessKeyID: env("AWS_ACCESS_KEY_ID"), SecretAccessKey: env("AWS_SECRET_ACCESS_KEY"), SessionToken: env("AWS_SESSION_TOKEN"),
		SignerType: credentials.SignatureV4,
	}
	add(&credentials.Static{Value: value}, value.AccessKeyID+value.SecretAccessKey != "")
	local := len(c.sources)
	add(&profile{env: env, region: region}, true)
	add(&credentials.STSWebIdentity{
		STSEndpoint: tokenService(env, region), RoleARN: env("AWS_ROLE_ARN"),
		GetWebIDTokenExpiry: func() (*credentials.WebIdentityToken, error) {
			token, err := os.ReadFile(env("AWS_WEB_IDENTITY_TOKEN_FILE")) // each time: somebody renews it
			return &credentials.WebIdentityToken{Token: strings.TrimSpace(string(token))}, err
		},
	}, env("AWS_WEB_IDENTITY_TOKEN_FILE") != "")
	// minio-go reads the rest of the variables of containers itself.
	container := env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")+env("AWS_CONTAINER_CREDENTIALS_FULL_URI") != ""
	add(&credentials.IAM{Client: nearby(5 * time.Second)}, container)
	remote = len(c.sources) > local+1
	alone := local == 0 && !remote && env("AWS_PROFILE") == "" && !strings.EqualFold(env("AWS_EC2_METADATA_DISABLED"), "true")
	endpoint := strings.TrimRight(env("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "/")
	add(&machine{credentials.IAM{Client: nearby(time.Second), Endpoint: endpoint}}, alone)
	return c, remote
}

// nearby is a client for services of this machine, which no proxy leads to.
func nearby(patience time.Duration) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
}

// tokenService is where tokens and roles are exchanged for credentials.
func tokenService(env func(string) string, region string) string {
	suffix := ""
	if strings.HasPrefix(region, "cn-") {
		suffix = ".cn"
	}
	return cmp.Or(env("AWS_ENDPOINT_URL_STS"), "https://sts."+region+".amazonaws.com"+suffix)
}

// profile reads the files that the tools of Amazon share.
type profile struct {
	credentials.FileAWSCredentials
	env    func(string) string
	region string
}

// RetrieveWithCredContext reads the profile that AWS_PROFILE names, or the default one, which need
// not be there. minio-go does so, but for roles.
func (p *profile) RetrieveWithCredContext(cc *credentials.CredContext) (value credentials.Value, err error) {
	name := cmp.Or(p.env("AWS_PROFILE"), "default")
	file := func(variable, name string) string {
		home := cmp.Or(p.env("HOME"), p.env("USERPROFILE"))
		if home == "" {
			return cmp.Or(p.env(variable), os.DevNull)
		}
		return cmp.Or(p.env(variable), filepath.Join(home, ".aws", name))
	}
	keys, err := ini.LooseLoad(file("AWS_CONFIG_FILE", "config"), file("AWS_SHARED_CREDENTIALS_FILE", "credentials"))
	if err != nil {
		return value, fmt.Errorf("read the profiles in AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE: %w", err)
	}
	key := func(of string) string {
		return cmp.Or(keys.Section(name).Key(of).String(), keys.Section("profile "+name).Key(of).String())
	}
	known := key("aws_access_key_id") + key("aws_secret_access_key") + key("sso_role_name") + key("credential_process")
	switch {
	case key("role_arn") != "" && key("source_profile") != "" && key("mfa_serial") == "":
		value, err = p.assume(cc, key)
	case known != "":
		p.Profile = name
		value, err = p.FileAWSCredentials.RetrieveWithCredContext(cc)
	case p.env("AWS_PROFILE") != "" || key("role_arn") != "":
		err = errors.New("it has no credentials that Remit can use: keys, sso_role_name, a credential_process, " +
			"or a role_arn with source_profile and without mfa_serial")
	}
	if err != nil {
		err = fmt.Errorf("profile %.100q: %w", name, err)
	}
	return value, err
}

// assume takes on a role with the credentials of another profile.
func (p *profile) assume(cc *credentials.CredContext, key func(string) string) (credentials.Value, error) {
	by, err := (&credentials.FileAWSCredentials{Profile: key("source_profile")}).RetrieveWithCredContext(cc)
	if err != nil {
		return by, fmt.Errorf("source_profile: %w", err)
	}
	role := credentials.STSAssumeRole{STSEndpoint: tokenService(p.env, p.region), Options: credentials.STSAssumeRoleOptions{
		AccessKey: by.AccessKeyID, SecretKey: by.SecretAccessKey, SessionToken: by.SessionToken, Location: p.region,
		RoleARN: key("role_arn"), ExternalID: key("external_id"), RoleSessionName: cmp.Or(key("role_session_name"), "remit"),
	}}
	return role.RetrieveWithCredContext(cc)
}
