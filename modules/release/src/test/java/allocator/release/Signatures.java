package allocator.release;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bouncycastle.bcpg.ArmoredOutputStream;
import org.bouncycastle.bcpg.HashAlgorithmTags;
import org.bouncycastle.openpgp.PGPException;
import org.bouncycastle.openpgp.PGPPublicKey;
import org.bouncycastle.openpgp.PGPSecretKeyRing;
import org.bouncycastle.openpgp.PGPSignature;
import org.bouncycastle.openpgp.PGPSignatureGenerator;
import org.bouncycastle.openpgp.PGPSignatureList;
import org.bouncycastle.openpgp.PGPUtil;
import org.bouncycastle.openpgp.bc.BcPGPObjectFactory;
import org.bouncycastle.openpgp.operator.bc.BcKeyFingerprintCalculator;
import org.bouncycastle.openpgp.operator.bc.BcPBESecretKeyDecryptorBuilder;
import org.bouncycastle.openpgp.operator.bc.BcPGPContentSignerBuilder;
import org.bouncycastle.openpgp.operator.bc.BcPGPContentVerifierBuilderProvider;
import org.bouncycastle.openpgp.operator.bc.BcPGPDigestCalculatorProvider;

/** Detached, armored signatures of OpenPGP. */
final class Signatures {
    private Signatures() {}

    /** Returns the key in the form that {@link TrialKey} writes. */
    static PGPSecretKeyRing key(String armored) throws IOException, PGPException {
        return new PGPSecretKeyRing(
                PGPUtil.getDecoderStream(new ByteArrayInputStream(armored.getBytes(StandardCharsets.US_ASCII))),
                new BcKeyFingerprintCalculator());
    }

    static String sign(byte[] content, PGPSecretKeyRing key, String passphrase) throws IOException, PGPException {
        final var signer = new PGPSignatureGenerator(
                new BcPGPContentSignerBuilder(
                        key.getSecretKey().getPublicKey().getAlgorithm(), HashAlgorithmTags.SHA512),
                key.getPublicKey());
        signer.init(
                PGPSignature.BINARY_DOCUMENT,
                key.getSecretKey()
                        .extractPrivateKey(new BcPBESecretKeyDecryptorBuilder(new BcPGPDigestCalculatorProvider())
                                .build(passphrase.toCharArray())));
        signer.update(content);
        final ByteArrayOutputStream text = new ByteArrayOutputStream();
        try (OutputStream armor = ArmoredOutputStream.builder().build(text)) {
            signer.generate().encode(armor);
        }
        return text.toString(StandardCharsets.US_ASCII);
    }

    /** Returns whether a signature is the key's, of this content; {@code false} also for what is no signature. */
    static boolean isValid(byte[] content, Path signature, PGPSecretKeyRing key) throws IOException {
        try {
            final Object first = new BcPGPObjectFactory(
                            PGPUtil.getDecoderStream(new ByteArrayInputStream(Files.readAllBytes(signature))))
                    .nextObject();
            if (!(first instanceof PGPSignatureList signatures) || signatures.isEmpty()) {
                return false;
            }
            final PGPSignature found = signatures.get(0);
            final PGPPublicKey signer = key.getPublicKey(found.getKeyID());
            if (signer == null) {
                return false;
            }
            found.init(new BcPGPContentVerifierBuilderProvider(), signer);
            found.update(content);
            return found.verify();
        } catch (PGPException e) {
            return false;
        }
    }
}
