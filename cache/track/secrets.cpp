// SPDX-License-Identifier: Apache-2.0
#include "cache/track/secrets.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "cache/track/work_tree.h"

namespace kvboost::cache {
namespace {

constexpr SecretPattern kPatterns[] = {
    {".env", "environment of a service, with its passwords"},
    {".env.*", "the same for one stage (.env.production)"},
    {"*.env", "the same, named (prod.env)"},
    {".envrc", "direnv"},
    {"id_rsa", "SSH private key"},
    {"id_dsa", "SSH private key"},
    {"id_ecdsa", "SSH private key"},
    {"id_ed25519", "SSH private key"},
    {"id_*_sk", "SSH private key on a token"},
    {"*.pem", "key or certificate"},
    {"*.key", "private key"},
    {"*.p8", "private key"},
    {"*.p12", "key store"},
    {"*.pfx", "key store"},
    {"*.ppk", "PuTTY private key"},
    {"*.jks", "Java key store"},
    {"*.jceks", "Java key store"},
    {"*.bks", "Java key store"},
    {"*.keystore", "Java or Android key store"},
    {"*.keytab", "Kerberos keys"},
    {"*.kdb", "KeePass database"},
    {"*.kdbx", "KeePass database"},
    {"*.ovpn", "VPN profile with keys"},
    {".netrc", "passwords of FTP and HTTP hosts"},
    {"_netrc", "the same on Windows"},
    {".git-credentials", "passwords of git hosts"},
    {".npmrc", "npm token"},
    {".pypirc", "PyPI token"},
    {".dockercfg", "registry password"},
    {".docker/config.json", "registry password"},
    {".pgpass", "PostgreSQL passwords"},
    {".my.cnf", "MySQL password"},
    {".mylogin.cnf", "MySQL password"},
    {".s3cfg", "S3 keys"},
    {".boto", "cloud keys"},
    {".htpasswd", "password hashes of a web server"},
    {".vault-token", "Vault token"},
    {".vault_pass*", "Ansible Vault password"},
    {"kubeconfig", "Kubernetes credentials"},
    {".kube/config", "Kubernetes credentials"},
    {"credentials", "credentials"},
    {"credentials.json", "credentials"},
    {"credentials.y*ml", "credentials"},
    {"credentials.toml", "credentials"},
    {"credentials.xml", "credentials"},
    {"credentials.ini", "credentials"},
    {"credentials.csv", "credentials"},
    {"credentials.txt", "credentials"},
    {"credentials.properties", "credentials"},
    {"credentials.*.enc", "credentials, encrypted"},
    {"*_credentials.json", "credentials"},
    {"*-credentials.json", "credentials"},
    {"client_secret*.json", "OAuth client secret"},
    {"client-secret*.json", "OAuth client secret"},
    {"service-account*.json", "service account key"},
    {"service_account*.json", "service account key"},
    {"secret.y*ml", "secrets"},
    {"secrets.y*ml", "secrets"},
    {"*.secrets.yml", "secrets"},
    {"*.secrets.yaml", "secrets"},
    {"secrets.json", "secrets"},
    {"secrets.toml", "secrets"},
    {"secrets.properties", "secrets"},
    {"secrets.env", "secrets"},
    {"local.settings.json", "settings of a function with its keys"},
    {"wp-config.php", "WordPress database password"},
    {"*.tfstate", "Terraform state: holds passwords in clear"},
    {"*.tfstate.backup", "the same, backed up"},
    {"*.tfvars", "Terraform variables"},
    {"*.tfvars.json", "Terraform variables"},
    {".*_history", "a shell's or database client's history"},
    {".ssh/", "SSH keys and hosts"},
    {".gnupg/", "GnuPG keys"},
    {".aws/", "AWS keys"},
    {".azure/", "Azure tokens"},
    {".password-store/", "pass"},
};

constexpr std::string_view kExceptions[] = {
    "*.example",  "*.sample",     "*.template",     "*.dist",        "*.pub",           "example.env",
    "sample.env", "template.env", ".env.example.*", ".env.sample.*", ".env.template.*", "example.tfvars",
};

// `pattern` has at most one '*'.
bool fits(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  return name.size() + 1 >= pattern.size() && name.starts_with(pattern.substr(0, star)) &&
         name.ends_with(pattern.substr(star + 1));
}

bool in_folder(std::string_view folder_with_slash, std::string_view path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t slash = path.find('/', begin);
    if (slash == std::string_view::npos) return false;
    if (path.substr(begin, slash + 1 - begin) == folder_with_slash) return true;
    begin = slash + 1;
  }
  return false;
}

bool fits_path(std::string_view pattern, std::string_view path, std::string_view name) {
  const std::size_t slash = pattern.find('/');
  if (slash == std::string_view::npos) return fits(pattern, name);
  if (slash + 1 == pattern.size()) return in_folder(pattern, path);
  return path == pattern || (path.ends_with(pattern) && path[path.size() - pattern.size() - 1] == '/');
}

}  // namespace

std::span<const SecretPattern> secret_patterns() {
  return kPatterns;
}
std::span<const std::string_view> secret_exceptions() {
  return kExceptions;
}

bool is_secret_path(std::string_view path) {
  const std::string lower = ascii_lower(path);
  const std::string_view whole = lower;
  const std::size_t slash = whole.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? whole : whole.substr(slash + 1);
  const auto matches = [&](const SecretPattern& row) { return fits_path(row.pattern, whole, name); };
  return std::ranges::any_of(kPatterns, matches) &&
         std::ranges::none_of(kExceptions, [&](std::string_view pattern) { return fits(pattern, name); });
}

bool is_private_key(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  if (line.starts_with("PuTTY-User-Key-File-")) return true;
  return line.starts_with("-----BEGIN ") && line.find("PRIVATE KEY") != std::string_view::npos;
}

}  // namespace kvboost::cache
