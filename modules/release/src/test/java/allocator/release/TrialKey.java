package allocator.release;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.Date;
import org.bouncycastle.bcpg.ArmoredOutputStream;
import org.bouncycastle.bcpg.HashAlgorithmTags;
import org.bouncycastle.bcpg.PublicKeyAlgorithmTags;
import org.bouncycastle.bcpg.PublicKeyPacket;
import org.bouncycastle.bcpg.SymmetricKeyAlgorithmTags;
import org.bouncycastle.crypto.generators.Ed25519KeyPairGenerator;
import org.bouncycastle.crypto.params.Ed25519KeyGenerationParameters;
import org.bouncycastle.openpgp.PGPException;
import org.bouncycastle.openpgp.PGPKeyRingGenerator;
import org.bouncycastle.openpgp.PGPSecretKeyRing;
import org.bouncycastle.openpgp.PGPSignature;
import org.bouncycastle.openpgp.operator.bc.BcPBESecretKeyEncryptorBuilder;
import org.bouncycastle.openpgp.operator.bc.BcPGPContentSignerBuilder;
import org.bouncycastle.openpgp.operator.bc.BcPGPDigestCalculatorProvider;
import org.bouncycastle.openpgp.operator.bc.BcPGPKeyPair;

/**
 * Makes a key for a trial: nothing that it signs is to be published. {@code modules/release/make} runs this file as it
 * stands, before anything is built.
 */
final class TrialKey {
    private TrialKey() {}

    /**
     * Writes a new secret key, in the form that {@code MAVEN_GPG_KEY} takes.
     *
     * @param arguments the file to write, and the passphrase
     */
    public static void main(String[] arguments) throws IOException, PGPException {
        Files.writeString(Path.of(arguments[0]), armored(make(arguments[1])));
    }

    static PGPSecretKeyRing make(String passphrase) throws PGPException {
        final Ed25519KeyPairGenerator generator = new Ed25519KeyPairGenerator();
        generator.init(new Ed25519KeyGenerationParameters(new SecureRandom()));
        final var digests = new BcPGPDigestCalculatorProvider();
        final var pair = new BcPGPKeyPair(
                PublicKeyPacket.VERSION_4,
                PublicKeyAlgorithmTags.EDDSA_LEGACY,
                generator.generateKeyPair(),
                Date.from(Instant.now()));
        return new PGPKeyRingGenerator(
                        PGPSignature.POSITIVE_CERTIFICATION,
                        pair,
                        "Trial, not for publishing <trial@example.com>",
                        digests.get(HashAlgorithmTags.SHA1),
                        null,
                        null,
                        new BcPGPContentSignerBuilder(PublicKeyAlgorithmTags.EDDSA_LEGACY, HashAlgorithmTags.SHA512),
                        new BcPBESecretKeyEncryptorBuilder(
                                        SymmetricKeyAlgorithmTags.AES_256, digests.get(HashAlgorithmTags.SHA256))
                                .build(passphrase.toCharArray()))
                .generateSecretKeyRing();
    }

    static String armored(PGPSecretKeyRing key) throws IOException {
        final ByteArrayOutputStream text = new ByteArrayOutputStream();
        try (OutputStream armor = ArmoredOutputStream.builder().build(text)) {
            key.encode(armor);
        }
        return text.toString(StandardCharsets.US_ASCII);
    }
}
