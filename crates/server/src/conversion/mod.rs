//! Objects of a definition in another of its versions: renamed, or converted by the definition's webhook.
//!
//! `review` and `answer` are pure: the question and what may be answered. [`Converter`] asks. [`Views`] shows stored
//! objects in one version, each converted once and remembered.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/conversion, v1.36.

mod answer;
mod metrics;
mod owners;
mod review;
mod views;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use meta::gvk::Gvk;
use meta::object::Malformed;
use meta::status::Status;
use meta::{Text, Value};
use store::Revision;

pub(crate) use metrics::ConversionMetrics;
pub use owners::Conversions;
pub use views::Views;

use crate::env::SharedEnv;
use crate::webhook::{ClientConfig, Webhooks};
use answer::AnswerError;
use review::ReviewVersion;

/// How long a webhook has for one call, as in the reference.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Why an object has no form in a version. The texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    /// The definition's webhook cannot be called at all.
    #[error("error resolving resource")]
    Unusable,
    #[error("{text}")]
    Failed {
        text: String,
        /// The oldest of the objects that could not be converted, if they are stored.
        oldest: Option<Revision>,
    },
}

impl ConversionError {
    fn failed(text: impl Into<String>) -> Self {
        ConversionError::Failed { text: text.into(), oldest: None }
    }

    /// The same about stored objects.
    fn about(self, oldest: Revision) -> Self {
        match self {
            ConversionError::Failed { text, .. } => ConversionError::Failed { text, oldest: Some(oldest) },
            ConversionError::Unusable => ConversionError::Unusable,
        }
    }

    /// What a client reads who asked for the object.
    pub fn status(&self) -> Status {
        match self {
            ConversionError::Unusable => Status::internal_error(self),
            ConversionError::Failed { text, .. } => Status::unknown(500, text.as_str()),
        }
    }
}

/// The schemas of a definition's versions; `None`: a version of old that says nothing.
pub type Schemas = Arc<[(String, Option<Arc<schema::Schema>>)]>;

/// How the objects of one definition get from version to version.
pub struct Converter {
    kind: Text,
    pub schemas: Schemas,
    strategy: Strategy,
}

enum Strategy {
    /// Only the name of the version changes.
    None,
    Webhook(Box<Hook>),
}

/// A definition's webhook.
struct Hook {
    webhooks: Arc<Webhooks>,
    /// `None`: it cannot be called.
    config: Option<ClientConfig>,
    version: Option<ReviewVersion>,
    env: SharedEnv,
    metrics: ConversionMetrics,
}

/// What a call of a webhook needs of the server.
#[derive(Clone)]
pub(crate) struct Tools {
    pub(crate) webhooks: Arc<Webhooks>,
    pub(crate) env: SharedEnv,
    pub(crate) metrics: ConversionMetrics,
}

impl Converter {
    /// The converter that a definition asks for.
    pub(crate) fn of(definition: &Value, kind: Text, schemas: Schemas, tools: &Tools) -> Self {
        let conversion = definition.at(&["spec", "conversion"]);
        let strategy = match conversion.and_then(|conversion| conversion.get("strategy")) {
            Some(Value::String(strategy)) if strategy == "Webhook" => {
                let webhook = conversion.and_then(|conversion| conversion.get("webhook"));
                let declared = webhook.and_then(|webhook| webhook.get("conversionReviewVersions"));
                let declared = declared.and_then(Value::as_array).unwrap_or_default();
                let config = webhook.and_then(|webhook| webhook.get("clientConfig"));
                Strategy::Webhook(Box::new(Hook {
                    webhooks: tools.webhooks.clone(),
                    config: config.and_then(|config| ClientConfig::of(config).ok()),
                    version: ReviewVersion::choose(declared.iter().filter_map(Value::as_str)),
                    env: tools.env.clone(),
                    metrics: tools.metrics.clone(),
                }))
            }
            _ => Strategy::None,
        };
        Converter { kind, schemas, strategy }
    }

    /// Whether somebody outside has to be asked.
    pub fn asks(&self) -> bool {
        matches!(self.strategy, Strategy::Webhook(_))
    }

    fn knows(&self, api_version: &str) -> bool {
        self.schemas.iter().any(|(known, _)| known == api_version)
    }

    fn schema(&self, api_version: &str) -> Option<&Arc<schema::Schema>> {
        self.schemas.iter().find(|(known, _)| known == api_version)?.1.as_ref()
    }

    /// Brings a converted object into the shape of its version.
    fn shape(&self, object: &mut Value, api_version: &str) -> Result<(), ConversionError> {
        let Some(schema) = self.schema(api_version) else { return Ok(()) };
        let shaped = schema.shape(object, Malformed::Reject, None);
        shaped.map_err(|error| ConversionError::failed(error.to_string()))
    }

    /// An object in another version, in the shape of that version: what is written.
    pub async fn convert(&self, object: Value, desired: &str) -> Result<Value, ConversionError> {
        let mut converted = self.convert_bare(object, desired).await?;
        self.shape(&mut converted, desired)?;
        Ok(converted)
    }

    /// An object in another version, as the converter gives it.
    pub async fn convert_bare(&self, object: Value, desired: &str) -> Result<Value, ConversionError> {
        let mut one = vec![object];
        match self.convert_all(&mut one, desired).await? {
            Some(partial) => Err(partial.failure),
            None => Ok(one.pop().unwrap_or_default()),
        }
    }

    /// Converts objects in place, all in one call of the webhook.
    ///
    /// An answer that is of no use as a whole may be of use for single objects, and the reference asks for each object
    /// alone: then so do we, up to the first that fails. What comes back says how far that went.
    async fn convert_all(
        &self,
        objects: &mut [Value],
        desired: &str,
    ) -> Result<Option<Partial>, ConversionError> {
        for object in objects.iter() {
            let from = meta::object::api_version(object);
            if !self.knows(from) {
                return Err(unknown_version(from));
            }
        }
        let Strategy::Webhook(hook) = &self.strategy else {
            for object in objects {
                if let Value::Object(members) = object {
                    members.insert("apiVersion", desired);
                }
            }
            return Ok(None);
        };
        match hook.ask(objects, desired).await {
            Ok(converted) => {
                objects.iter_mut().zip(converted).for_each(|(object, converted)| *object = converted);
                Ok(None)
            }
            Err(CallFailure::Answer(_)) if objects.len() > 1 => {
                for (done, object) in objects.iter_mut().enumerate() {
                    match hook.ask(std::slice::from_ref(object), desired).await {
                        Ok(converted) => *object = converted.into_iter().next().unwrap_or_default(),
                        Err(failure) => {
                            let failure = failure.error(&self.gvk(object));
                            return Ok(Some(Partial { done, failure }));
                        }
                    }
                }
                Ok(None)
            }
            Err(failure) => {
                let gvk = objects.first().map(|object| self.gvk(object));
                Err(failure.error(&gvk.unwrap_or_else(|| Gvk::new("", "", ""))))
            }
        }
    }

    fn gvk(&self, object: &Value) -> Gvk {
        let version = meta::gvk::parse_api_version(meta::object::api_version(object)).ok();
        version.map_or_else(|| Gvk::new("", "", ""), |version| version.with_kind(self.kind.clone()))
    }
}

/// An object is in a version that its definition does not have.
fn unknown_version(api_version: &str) -> ConversionError {
    ConversionError::failed(format!("request to convert CR from an invalid group/version: {api_version}"))
}

/// How far the conversion of single objects came.
struct Partial {
    /// So many are converted; the next one failed.
    done: usize,
    failure: ConversionError,
}

/// Why a webhook did not convert.
enum CallFailure {
    /// Its client cannot be made.
    Unusable,
    /// There is nothing to ask it in.
    NoVersion,
    /// It gave no answer.
    Call(String),
    Answer(AnswerError),
}

impl CallFailure {
    fn error(self, gvk: &Gvk) -> ConversionError {
        match self {
            CallFailure::Unusable => ConversionError::Unusable,
            CallFailure::NoVersion => ConversionError::failed("no supported conversion review versions"),
            CallFailure::Call(why) => {
                ConversionError::failed(format!("conversion webhook for {gvk} failed: {why}"))
            }
            CallFailure::Answer(error) => ConversionError::failed(error.text(gvk)),
        }
    }

    fn metric(&self) -> &'static str {
        match self {
            CallFailure::Unusable | CallFailure::NoVersion | CallFailure::Call(_) => {
                "conversion_webhook_call_failure"
            }
            CallFailure::Answer(error) => error.metric(),
        }
    }
}

impl Hook {
    /// Asks for all objects at once.
    async fn ask(&self, objects: &[Value], desired: &str) -> Result<Vec<Value>, CallFailure> {
        let started = Instant::now();
        let answered = self.call(objects, desired).await;
        let failure = answered.as_ref().err().map(CallFailure::metric);
        if let Some(failure) = failure {
            tracing::debug!(desired, objects = objects.len(), failure, "a conversion webhook failed");
        }
        self.metrics.called(failure, started.elapsed());
        answered
    }

    async fn call(&self, objects: &[Value], desired: &str) -> Result<Vec<Value>, CallFailure> {
        let version = self.version.ok_or(CallFailure::NoVersion)?;
        let config = self.config.as_ref().ok_or(CallFailure::Unusable)?;
        let client = self.webhooks.client(config).map_err(|_| CallFailure::Unusable)?;
        let uid = self.env.uid();
        let question = Bytes::from(review::request(version, &uid, desired, objects));
        let answer = client.post(question, CALL_TIMEOUT).await;
        let answer = answer.map_err(|error| CallFailure::Call(error.to_string()))?;
        let converted =
            answer::objects(version, &uid, &answer, objects.len()).map_err(CallFailure::Answer)?;
        let accepted = objects
            .iter()
            .zip(converted)
            .map(|(object, converted)| answer::accept(object, converted, desired));
        accepted.collect::<Result<_, _>>().map_err(CallFailure::Answer)
    }
}
