// OpenSSL 3, with a function for each macro that Swift cannot import.
// SwiftPM does not rebuild when this file changes: touch a Swift file that imports it.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

static const uint64_t COpenSSL_SSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;

static inline EVP_PKEY *COpenSSL_EVP_PKEY_generate_ed25519(void) {
  return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
}
static inline EVP_PKEY *COpenSSL_EVP_PKEY_generate_rsa(size_t bits) {
  return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", bits);
}
static inline long COpenSSL_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
  return SSL_CTX_set_min_proto_version(context, version);
}
static inline long COpenSSL_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
  return SSL_CTX_set_mode(context, mode);
}
static inline long COpenSSL_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
  return SSL_CTX_set_session_cache_mode(context, mode);
}
static inline long COpenSSL_SSL_CTX_set_read_ahead(SSL_CTX *context, long on) {
  return SSL_CTX_set_read_ahead(context, on);
}
static inline long COpenSSL_SSL_CTX_set1_sigalgs_list(SSL_CTX *context, const char *list) {
  return SSL_CTX_set1_sigalgs_list(context, list);
}
static inline int COpenSSL_sk_X509_num(const STACK_OF(X509) *certificates) {
  return sk_X509_num(certificates);
}
static inline void COpenSSL_BIO_clear_retry_flags(BIO *bio) {
  BIO_clear_retry_flags(bio);
}
static inline void COpenSSL_BIO_set_retry_write(BIO *bio) {
  BIO_set_retry_write(bio);
}
