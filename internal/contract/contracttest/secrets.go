package contracttest

// DeniedNames lists names that the secret policy denies in every folder and in every letter case,
// with the rule.
func DeniedNames() map[string]string {
	const data = "data files named after credentials, passwords, secrets or tokens"
	return map[string]string{
		".env": ".env*", ".envrc": ".env*", ".env.local": ".env*", ".env-production": ".env*", ".environment": ".env*",
		".envs/production.md": ".env*", "prod.env": "*.env", "docker/web.env": "*.env",
		"secrets/notes.md": "secrets/", "a/secrets/b/c.md": "secrets/",
		".ssh/config": ".ssh/", ".ssh/known_hosts.md": ".ssh/", ".aws/config": ".aws/", ".gnupg/pubring.kbx": ".gnupg/", ".kube/config": ".kube/",
		".docker/config.json": ".docker/config.json",
		"server.key":          "*.key", ".key": "*.key", "tls.key/part.md": "*.key", "cert.pem": "*.pem", "store.p12": "*.p12", "store.pfx": "*.pfx",
		"store.jks": "*.jks", "release.keystore": "*.keystore",
		"id_rsa": "id_rsa*", "id_rsa.old": "id_rsa*", "id_rsa_backup": "id_rsa*", "id_dsa": "id_dsa*", "id_ecdsa": "id_ecdsa*",
		"id_ecdsa_sk": "id_ecdsa*", "id_ed25519": "id_ed25519*", "id_ed25519.pub.md": "id_ed25519*",
		".netrc": ".netrc", ".npmrc": ".npmrc", ".pypirc": ".pypirc", ".git-credentials": ".git-credentials", ".htpasswd": ".htpasswd",
		"terraform.tfstate": "*.tfstate*", "terraform.tfstate.backup": "*.tfstate*", "x.tfstate.d/y.md": "*.tfstate*",
		"credentials": data, "credentials.json": data, "aws-credentials": data, "my_credentials_old.txt": data, ".credentials.json": data,
		"password": data, "password.txt": data, "passwords.csv": data, "db-password.ini": data, "old.password.cfg": data, "password1.txt": data,
		"secret": data, "secret.yaml": data, "secrets.yml": data, "client_secret_42.json": data, "app.secrets.toml": data, "secrets": "secrets/",
		"token": data, ".token": data, "tokens.conf": data, "github-token.txt": data, "api_token": data, "-token": data, "token v2.txt": data,
	}
}

// ReadableNames lists names that the secret policy does not deny in any folder or letter case,
// though they resemble secrets.
func ReadableNames() []string {
	return []string{
		"README.md", "env", "env.md", "environment.md", "dot.env.md", "my.environment", "venv/x.md", ".venv/x.md",
		"secret.md", "secrets.md", "mysecrets/x.md", "secrets-guide.md", "secretary.txt", "secreted.json", "secret/x.md", "tokens/x.ts",
		"token.go", "tokens.md", "tokenizer.json", "tokenizer.txt", "detoken.py", "mytoken.txt", "token.test.ts", "password-policy.md",
		"password.go", "passwordless.txt", "passwords.md", "credential.md", "credentials.md", "credentials.go", "mycredentials", "password/x.md",
		"id_rsa.pub", "id_ed25519.pub", "id_rsync.md", "id.md", "valid_rsa", "keys.md", "key", "a.keys", "key.md", "pem.md", "monkey", "a.pem.md",
		".gitignore", ".gitattributes", ".npmignore", ".dockerignore", ".docker/readme.md", "docker/config.json", "config.json", ".sshx/a.md",
		"ssh/config.md", "aws/config.md", "kube/config.md", "netrc", "npmrc.md", "htpasswd.md", "tfstate", "tfstate.md", "main.tf",
	}
}
